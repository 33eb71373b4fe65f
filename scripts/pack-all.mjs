// Packs every package as it would be published into `tarballs/`, and prints how to install the named ones with those
// that they need: `pnpm pack:all @retail-pos/core @retail-pos/store-postgres`, or those of an example:
// `pnpm pack:all examples/express-login`. Without names: what the README's program imports, the sandbox and the doctor.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { packAll } from "./pack.mjs";

const OF_THE_README = [
  "@retail-pos/core",
  "@retail-pos/express-bearer",
  "@retail-pos/fetch",
  "passport-retail-pos",
  "@retail-pos/sandbox",
  "@retail-pos/cli",
];

const root = fileURLToPath(new URL("..", import.meta.url));
const packages = new Map(
  readdirSync(`${root}packages`).map((folder) => {
    const { name, dependencies } = manifestIn(`packages/${folder}`);
    return [name, Object.keys(dependencies ?? {})];
  }),
);
const named = process.argv.slice(2).flatMap((name) => {
  if (existsSync(`${root}${name}/package.json`)) return oursIn(name);
  return packages.has(`@retail-pos/${name}`) ? `@retail-pos/${name}` : name;
});
const unknown = named.filter((name) => !packages.has(name));
if (unknown.length > 0) {
  console.error(`There is no package ${unknown.join(", ")}. There are: ${[...packages.keys()].join(", ")}`);
  process.exit(1);
}

const folder = `${root}tarballs`;
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder);
const tarballs = await packAll(folder);
const files = [...withDependencies(named.length > 0 ? named : OF_THE_README)].map((name) =>
  join(folder, basename(tarballs.get(name))),
);
console.log(
  `${tarballs.size} tarballs are in ${folder}. They need each other, so install them in one command:`,
);
console.log(`\n  npm install ${files.join(" ")}\n`);
if (named.length === 0)
  console.log("For other packages or an example name them: pnpm pack:all examples/express-login");

function manifestIn(folder) {
  return JSON.parse(readFileSync(`${root}${folder}/package.json`, "utf8"));
}

/** What an example uses of ours. */
function oursIn(folder) {
  const { dependencies, devDependencies } = manifestIn(folder);
  return Object.keys({ ...dependencies, ...devDependencies }).filter((name) => packages.has(name));
}

function withDependencies(names, found = new Set()) {
  for (const name of names.filter((each) => packages.has(each) && !found.has(each))) {
    found.add(name);
    withDependencies(packages.get(name), found);
  }
  return found;
}
