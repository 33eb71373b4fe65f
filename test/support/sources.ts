import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../..", import.meta.url));

/** What a program imports of ours by name, and the source of it. */
export const sources: ReadonlyMap<string, string> = new Map(
  readdirSync(`${root}packages`).flatMap(sourcesOf),
);

function sourcesOf(folder: string): [name: string, source: string][] {
  const manifest = readFileSync(`${root}packages/${folder}/package.json`, "utf8");
  const { name, exports = {} } = JSON.parse(manifest) as Manifest;
  return Object.entries(exports).map(([path, { default: built }]) => [
    name + path.slice(1),
    `${root}packages/${folder}/${built.replace("./dist/", "src/").replace(/\.js$/, ".ts")}`,
  ]);
}

interface Manifest {
  readonly name: string;
  readonly exports?: Readonly<Record<string, { readonly default: string }>>;
}
