// Runs a program of this repository that is written in TypeScript: node scripts/run.mjs test/explore/cli.ts --seconds 5
import { mkdir, rm } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import { rolldown } from "rolldown";

const [file, ...args] = process.argv.slice(2);
const folder = new URL("../node_modules/.run/", import.meta.url);
await mkdir(folder, { recursive: true });
const built = new URL(`${process.pid}-${file.replaceAll(/\W/g, "-")}.mjs`, folder);
const bundle = await rolldown({ input: file, platform: "node", external: /^[^./]/ });
await bundle.write({ file: built.pathname, format: "esm" });
await bundle.close();
process.argv = [process.argv[0], file, ...args];
try {
  await import(pathToFileURL(built.pathname).href);
} finally {
  await rm(built);
}
