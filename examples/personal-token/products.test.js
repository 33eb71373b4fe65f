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
  const env = await api((page, size) => {
    asked.push(page);
    if (asked.length === 2) return undefined;
    return { data: products.slice((page - 1) * size, page * size), total: products.length };
  });
  const { code, output, errors } = await run(env);
  expect({ code, errors }).toEqual({ code: 0, errors: "" });
  expect(output.trim().split("\n")).toEqual(products.map(({ name }) => `${name}: 1.00 EUR`));
  expect(asked).toEqual([1, 2, 2, 3]);
});

test.each([
  ["a title and a colour", "Bolt \u001b]0;owned\u0007\u001b[31m", "Bolt \ufffd]0;owned\ufffd\ufffd[31m"],
  ["a line of its own", "Bolt\r\nNut\u2028Nut", "Bolt\ufffd\ufffdNut\ufffdNut"],
  ["another direction, and C1", "Bolt \u202etun\u009b31m", "Bolt \ufffdtun\ufffd31m"],
])("prints no %s that a product's name brings", async (_, name, printed) => {
  const { output } = await run(await api(() => ({ data: [{ name, price: 1, currency: "EUR" }], total: 1 })));
  expect(output).toBe(`${printed}: 1 EUR\n`);
});

test("prints no escape of an answer that is no JSON", async () => {
  const { code, errors } = await run(await api(() => "\u001b[31m"));
  expect(code).toBe(1);
  expect(errors.trim()).toMatch(/^\P{Cc}+$/u);
});

test("ends where the API's total does not", { timeout: 60_000 }, async () => {
  let pages = 0;
  const product = { name: "Bolt", price: 1, currency: "EUR" };
  const endless = await api((page) => {
    pages = page;
    return { data: [product], total: Number.MAX_VALUE };
  });
  const { code, errors } = await run(endless);
  expect([code, errors]).toEqual([
    1,
    "The store has more than 100000 products, or its API has no last page\n",
  ]);
  expect(pages).toBe(1000);

  const empty = await api((page) => ({ data: page === 1 ? [product] : [], total: 1e9 }));
  expect(await run(empty)).toMatchObject({ code: 0, output: "Bolt: 1 EUR\n" });
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

/** The settings for an API that answers so; `undefined` is a failure. */
async function api(answer) {
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url, "http://localhost");
    const [page, size] = [Number(searchParams.get("page")), Number(searchParams.get("page_size"))];
    const body = pathname === `/${store}/api/products` ? answer(page, size) : undefined;
    response
      .writeHead(body === undefined ? 503 : 200)
      .end(typeof body === "string" ? body : JSON.stringify(body));
  });
  onTestFinished(() => void server.close());
  await once(server.listen(0, "127.0.0.1"), "listening");
  const RETAIL_POS_BASE_URL = `http://127.0.0.1:${server.address().port}/{domain_prefix}`;
  return { RETAIL_POS_BASE_URL, PERSONAL_TOKEN: "some-token" };
}

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
