import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pnpm } from "../../../scripts/pack.mjs";
import { outputOf } from "./project.js";

/**
 * Makes the folder, and installs into `node_modules` as npm lays it out, but by pnpm, which links what it unpacked
 * before. Applications may be made in folders below.
 *
 * @param manifest what else is in `package.json`.
 */
export async function install(
  folder: string,
  dependencies: Readonly<Record<string, string>>,
  manifest: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  mkdirSync(folder);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, ...manifest, dependencies }));
  // Our packages depend on each other by version, which the registry may not have.
  const overrides = Object.fromEntries(
    Object.entries(dependencies).filter(([, range]) => range.startsWith("file:")),
  );
  const settings = { nodeLinker: "hoisted", ignoreScripts: true, overrides };
  writeFileSync(join(folder, "pnpm-workspace.yaml"), JSON.stringify(settings)); // YAML includes JSON
  const [command, args] = pnpm(["install", "--no-frozen-lockfile", "--prefer-offline"]);
  await outputOf(command, args, folder);
}
