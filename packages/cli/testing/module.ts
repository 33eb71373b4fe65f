import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

const exported = new Map<string, unknown>();
Object.assign(globalThis, { exportedByTests: exported });

/** A module that exports these things of this process; it is gone when the test is over. */
export function moduleOf(exports: Record<string, unknown>): string {
  const key = randomUUID();
  exported.set(key, exports);
  onTestFinished(() => void exported.delete(key));
  const lines = Object.keys(exports).map(
    (name) => `export const ${name} = globalThis.exportedByTests.get("${key}").${name};`,
  );
  return moduleFile(lines.join("\n"));
}

/** A module with this text. */
export function moduleFile(text: string, name = "retail-pos.mjs"): string {
  const folder = mkdtempSync(join(tmpdir(), "retail-pos-cli-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
}
