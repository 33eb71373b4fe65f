import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { startSandbox } from "@retail-pos/sandbox";
import { afterEach, beforeEach, expect, test } from "vitest";

const script = fileURLToPath(new URL("products.js", import.meta.url));
const store = "plant-room";
let sandbox;
beforeEach(async () => {
  sandbox = await startSandbox();
});
afterEach(() => sandbox.close());

test("lists the products, and ends by itself", async () => {
  const { code, output, errors } = await run({ PERSONAL_TOKEN: sandbox.createPersonalToken(store) });
  expect({ code, errors }).toEqual({ code: 0, errors: "" });
  expect(output).toMatch(/^.+: \d+\.\d\d EUR$/m);
});

test("says what to do when the token is refused because its user reset the password", async () => {
  const token = sandbox.createPersonalToken(store);
  sandbox.resetPassword(store);
  const { code, output, errors } = await run({ PERSONAL_TOKEN: token });
  expect({ code, output }).toEqual({ code: 1, output: "" });
  expect(errors).toContain("reset the password");
  expect(errors).toContain("create a new one");
  expect(errors).not.toContain(token);
});

test.each([
  { names: ["PERSONAL_TOKEN"] },
  { names: ["DOMAIN_PREFIX"] },
  { names: ["RETAIL_POS_BASE_URL"] },
  { names: ["RETAIL_POS_BASE_URL", "DOMAIN_PREFIX", "PERSONAL_TOKEN"] },
])("says what is missing, all at once: $names", async ({ names }) => {
  const without = Object.fromEntries(names.map((name) => [name, undefined]));
  const { code, errors } = await run({ PERSONAL_TOKEN: "some-token", ...without });
  expect({ code, errors }).toEqual({ code: 1, errors: `${names.join(", ")}: none was given\n` });
});

function run(env) {
  const child = spawn(process.execPath, [script], {
    env: { ...process.env, RETAIL_POS_BASE_URL: sandbox.baseUrl, DOMAIN_PREFIX: store, ...env },
  });
  let output = "";
  let errors = "";
  child.stdout.on("data", (chunk) => {
    output += chunk;
  });
  child.stderr.on("data", (chunk) => {
    errors += chunk;
  });
  return new Promise((resolve) => child.once("close", (code) => resolve({ code, output, errors })));
}
