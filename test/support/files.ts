import { readdirSync } from "node:fs";
import { resolve } from "node:path";
import { root } from "./sources.js";

/** Every file below a folder that somebody wrote; paths from the root. */
export function filesIn(folder: string): string[] {
  return readdirSync(resolve(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (!entry.isDirectory()) return [path];
    return /^(\.|node_modules$|dist$)/.test(entry.name) ? [] : filesIn(path);
  });
}
