import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const root = fileURLToPath(new URL("..", import.meta.url));

export async function packAll(folder) {
  const args = ["--filter", "./packages/*", "pack", "--json", "--pack-destination", folder];
  const { stdout } = await promisify(execFile)(...pnpm(args), { cwd: root, maxBuffer: 2 ** 24 });
  return new Map(JSON.parse(stdout).map(({ name, filename }) => [name, filename]));
}

/** The pnpm that runs us; one that npx fetches where something else does. */
export function pnpm(args) {
  const path = process.env.npm_execpath ?? "";
  if (!/pnpm/.test(path)) return ["npx", ["-y", "pnpm", ...args]];
  return /\.[cm]?js$/.test(path) ? [process.execPath, [path, ...args]] : [path, args];
}
