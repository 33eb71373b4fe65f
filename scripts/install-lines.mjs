import { readdirSync, readFileSync } from "node:fs";

const folder = new URL("../packages/", import.meta.url);
export const packages = new Map(
  readdirSync(folder).map((name) => {
    const manifest = JSON.parse(readFileSync(new URL(`${name}/package.json`, folder), "utf8"));
    return [manifest.name, Object.keys(manifest.dependencies ?? {})];
  }),
);

export function installLines(text, tarballs) {
  const installed = new Set();
  const withNeeded = (name) => {
    if (!tarballs.has(name)) return [name];
    if (installed.has(name)) return [];
    installed.add(name);
    const needed = packages.get(name).filter((each) => tarballs.has(each));
    return [tarballs.get(name), ...needed.flatMap(withNeeded)];
  };
  return [...text.matchAll(/(?:^ *|`)npm install ([^#`\n]*[^#`\n ])/gm)]
    .map(([, words]) => words.split(" ").flatMap(withNeeded))
    .filter((words) => words.some((word) => !word.startsWith("-")))
    .map((words) => `npm install ${words.join(" ")}`);
}
