// Packs every package as it would be published into `tarballs/`, and prints how to install them: `pnpm pack:all`.
import { mkdirSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { packAll } from "./pack.mjs";

const folder = fileURLToPath(new URL("../tarballs", import.meta.url));
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder);
const tarballs = await packAll(folder);
const ofExpress = [
  "@retail-pos/core",
  "@retail-pos/login",
  "passport-retail-pos",
  "@retail-pos/fetch",
  "@retail-pos/express-bearer",
];
const files = ofExpress.map((name) => join(folder, basename(tarballs.get(name))));
console.log(
  `${tarballs.size} tarballs in ${folder}. They need each other: install what you use in one command, as here for Express:`,
);
console.log(`\n  npm install ${files.join(" ")}`);
