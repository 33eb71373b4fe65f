import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { inPlainWords } from "@retail-pos/core/authoring";

/** The names under which this project publishes packages. */
const OURS = /^(@retail-pos\/.+|passport-retail-pos)$/;

/**
 * Whether one of our packages threw this itself. Node, a driver or the application may have thrown it as well, and
 * their messages repeat what they were given: a header, an address. The first frame of the stack tells. If it does not,
 * as in an application that is bundled into one file, the answer is no.
 */
export function isThrownByUs(error: unknown): boolean {
  const frames = inPlainWords(error).stack?.split("\n").slice(1) ?? []; // without the message, which may look like one
  const file = /[\s(]((?:file:\/\/)?(?:\/|[A-Za-z]:\\).+):\d+:\d+\)?$/.exec(frames[0] ?? "")?.[1];
  if (file === undefined) return false;
  return OURS.test(packageOf(file.startsWith("file:") ? fileURLToPath(file) : file));
}

/** The name in the nearest package.json that has one; empty if there is none. */
function packageOf(file: string): string {
  for (let folder = dirname(file); folder !== dirname(folder); folder = dirname(folder)) {
    const name = nameIn(join(folder, "package.json"));
    if (name !== undefined) return name;
  }
  return "";
}

function nameIn(manifest: string): string | undefined {
  if (!existsSync(manifest)) return undefined;
  try {
    const { name } = Object(JSON.parse(readFileSync(manifest, "utf8")));
    return typeof name === "string" ? name : undefined;
  } catch {
    return undefined;
  }
}
