import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

// The built package, in a process of its own: a script that counts ends when its own work has ended.

const script = `
  import { retailPos } from "@retail-pos/core";
  import { countRetailers } from "@retail-pos/opentelemetry";
  const client = retailPos({ baseUrl: "https://{domain_prefix}.example.com", clientId: "id", clientSecret: "secret" });
  countRetailers({ client, everyMs: 1000 });
  process.on("exit", () => console.log("ended by itself"));
`;

test("the timer keeps no process alive", async () => {
  const cwd = fileURLToPath(new URL("..", import.meta.url));
  const args = ["--input-type=module", "--eval", script];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd, timeout: 30_000 });
  expect(stdout).toBe("ended by itself\n");
});
