import { readdirSync, readFileSync } from "node:fs";

const folder = new URL("../packages/", import.meta.url);
export const packages = new Map(
  readdirSync(folder).map((name) => {
    const manifest = JSON.parse(readFileSync(new URL(`${name}/package.json`, folder), "utf8"));
    return [manifest.name, Object.keys(manifest.dependencies ?? {})];
  }),
);

/** Each line can be run alone: it has the files of all that its packages need. */
export function installLines(text, tarballs) {
  const withNeeded = (name) => {
    if (!tarballs.has(name)) return [name];
    const needed = packages.get(name).filter((each) => tarballs.has(each));
    return [tarballs.get(name), ...needed.flatMap(withNeeded)];
  };
  return [...text.matchAll(/(?:^ *|`)npm install ([^#`\n]*[^#`\n ])/gm)]
    .map(([, words]) => words.split(" "))
    .filter((words) => words.some((word) => !word.startsWith("-")))
    .map((words) => `npm install ${[...new Set(words.flatMap(withNeeded))].join(" ")}`);
}
