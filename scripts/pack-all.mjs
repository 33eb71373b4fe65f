// Packs every package as it would be published into `tarballs/`, and prints the lines that install them from there:
// those of a document (`pnpm pack:all docs/accounts.md`), what an example needs (`pnpm pack:all
// examples/express-login`), or packages by their names (`pnpm pack:all store-postgres`). Without names: the README's.
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { installLines, packages } from "./install-lines.mjs";
import { packAll } from "./pack.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const named = process.argv.slice(2);
const lines = named.length === 0 ? textOf("README.md") : named.map(linesFor).join("\n");

const folder = `${root}tarballs`;
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder);
const packed = await packAll(folder);
const tarballs = new Map([...packed].map(([name, file]) => [name, join(folder, basename(file))]));

console.log(`${tarballs.size} tarballs are in ${folder}. In the folder of your application, run:\n`);
for (const line of installLines(lines, tarballs)) console.log(`  ${line}\n`);
if (named.length === 0)
  console.log("For another page, an example or a package name it: pnpm pack:all docs/accounts.md");

function linesFor(name) {
  if (name.endsWith(".md") && existsSync(root + name)) return textOf(name);
  if (existsSync(`${root}${name}/package.json`)) return `npm install ${oursIn(name).join(" ")}`;
  const ours = [`@retail-pos/${name}`, name].find((each) => packages.has(each));
  if (ours) return `npm install ${ours}`;
  console.error(`There is no page, example or package ${name}. Packages: ${[...packages.keys()].join(", ")}`);
  process.exit(1);
}

function textOf(document) {
  return readFileSync(root + document, "utf8");
}

function manifestIn(folder) {
  return JSON.parse(textOf(`${folder}/package.json`));
}

/** What an example uses of ours; a package, and what it uses. */
function oursIn(folder) {
  const { name, dependencies, devDependencies } = manifestIn(folder);
  return [name, ...Object.keys({ ...dependencies, ...devDependencies })].filter((each) => packages.has(each));
}
