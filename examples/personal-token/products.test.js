import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { startSandbox } from "@retail-pos/sandbox";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";

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

test("reads every page, and tries again while the API fails", async () => {
  const products = Array.from({ length: 230 }, (_, at) => ({
    name: `Bolt ${at}`,
    price: "1.00",
    currency: "EUR",
  }));
  const asked = [];
  const api = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url, "http://localhost");
    const [page, size] = [Number(searchParams.get("page")), Number(searchParams.get("page_size"))];
    asked.push(`${pathname} ${page}`);
    response.statusCode = asked.length === 2 ? 503 : 200;
    const data = products.slice((page - 1) * size, page * size);
    response.end(JSON.stringify({ data, page, page_size: size, total: products.length }));
  });
  onTestFinished(() => void api.close());
  await once(api.listen(0, "127.0.0.1"), "listening");
  const RETAIL_POS_BASE_URL = `http://127.0.0.1:${api.address().port}/{domain_prefix}`;
  const { code, output, errors } = await run({ RETAIL_POS_BASE_URL, PERSONAL_TOKEN: "some-token" });
  expect({ code, errors }).toEqual({ code: 0, errors: "" });
  expect(output.trim().split("\n")).toEqual(products.map(({ name }) => `${name}: 1.00 EUR`));
  expect(asked).toEqual([1, 2, 2, 3].map((page) => `/${store}/api/products ${page}`));
});

test("does not try again what another try does not change", async () => {
  const fault = sandbox.fault(404, { endpoint: "api", times: 1 });
  const { code, errors } = await run({ PERSONAL_TOKEN: sandbox.createPersonalToken(store) });
  expect({ code, errors }).toEqual({ code: 1, errors: "The API answered 404\n" });
  expect(fault.hits).toBe(1);
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
