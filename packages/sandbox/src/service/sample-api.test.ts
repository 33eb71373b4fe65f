import { expect, test } from "vitest";
import { type Client, startClient } from "../../testing/client.js";
import { virtualClock } from "../index.js";

test("an access token opens the products of its store", async () => {
  const client = await startClient();
  const { access_token } = await client.login();
  const list = (await (await client.call("/api/products?page_size=3", access_token)).json()) as Page;
  expect(list).toMatchObject({ page: 1, page_size: 3 });
  expect(list.data).toHaveLength(3);
  const [product] = list.data;
  const one = await client.call(`/api/products/${product?.id}`, access_token);
  expect(await one.json()).toEqual({ data: product });
  const next = (await (await client.call("/api/products?page=2&page_size=3", access_token)).json()) as Page;
  expect(next.data[0]?.id).not.toBe(product?.id);
});

test("every store has products of its own", async () => {
  const client = await startClient({ stores: 8 });
  for (const { domainPrefix } of client.sandbox.stores) {
    const token = client.sandbox.createPersonalToken(domainPrefix);
    const list = (await (await client.call("/api/products", token, {}, domainPrefix)).json()) as Page;
    expect(list.data.length).toBeGreaterThan(3);
    expect(list.data.every((product) => product.id.startsWith(domainPrefix))).toBe(true);
  }
});

test("a store has as many products as it was asked for, on as many pages", async () => {
  const client = await startClient({ products: 250 });
  const { access_token } = await client.login();
  const pages: Page[] = [];
  for (const page of [1, 2, 3, 4])
    pages.push(
      (await (await client.call(`/api/products?page=${page}&page_size=100`, access_token)).json()) as Page,
    );
  expect(pages.map(({ data }) => data.length)).toEqual([100, 100, 50, 0]);
  const products = pages.flatMap(({ data }) => data);
  for (const name of ["id", "sku", "name"] as const)
    expect(new Set(products.map((product) => product[name])).size).toBe(250);
  const last = await client.call(`/api/products/${products.at(-1)?.id}`, access_token);
  expect(await last.json()).toEqual({ data: products.at(-1) });
});

test("a store may have no products at all", async () => {
  const client = await startClient({ products: 0 });
  const { access_token } = await client.login();
  expect(await (await client.call("/api/products", access_token)).json()).toMatchObject({
    data: [],
    total: 0,
  });
});

test("a sale can be posted and read again", async () => {
  const client = await startClient();
  const { access_token } = await client.login();
  const body = JSON.stringify({ product_id: "harbour-coffee-1", quantity: 3 });
  const posted = await client.call("/api/sales", access_token, {
    method: "POST",
    body,
    headers: { "content-type": "application/json" },
  });
  expect(posted.status).toBe(201);
  const { data } = (await posted.json()) as { data: unknown };
  expect(data).toMatchObject({ product_id: "harbour-coffee-1", quantity: 3, total: "28.50" });
  const sales = (await (await client.call("/api/sales", access_token)).json()) as Page;
  expect(sales.data).toEqual([data]);
});

const answers: [what: string, path: string, init: RequestInit, status: number][] = [
  ["the retailer", "/api/retailer", {}, 200],
  ["HEAD", "/api/products", { method: "HEAD" }, 200],
  ["an unknown product", "/api/products/nothing", {}, 404],
  ["an unknown resource", "/api/customers", {}, 404],
  ["too deep a path", "/api/products/a/b", {}, 404],
  ["page 0", "/api/products?page=0", {}, 400],
  ["a page size of 101", "/api/products?page_size=101", {}, 400],
  ["a page that is no number", "/api/products?page=x", {}, 400],
  ["DELETE", "/api/products", { method: "DELETE" }, 405],
  ["a sale in a form", "/api/sales", { method: "POST", body: new URLSearchParams({ a: "b" }) }, 415],
  ["a sale that is no JSON", "/api/sales", json("{"), 400],
  ["a sale that is null", "/api/sales", json("null"), 400],
  ["a sale of half a product", "/api/sales", json('{"product_id":"harbour-coffee-1","quantity":0.5}'), 400],
  [
    "a sale of what the store has not",
    "/api/sales",
    json('{"product_id":"rosas-bikes-1","quantity":1}'),
    422,
  ],
  ["a sale too long", "/api/sales", json(JSON.stringify({ note: "x".repeat(70_000) })), 413],
];
for (const [what, path, init, status] of answers) {
  test(`${what}: ${status}`, async () => {
    const client = await startClient();
    const { access_token } = await client.login();
    expect((await client.call(path, access_token, init)).status).toBe(status);
  });
}

const refused: [what: string, authorization: (client: Client) => Promise<string>][] = [
  ["a made-up token", async () => "Bearer guess"],
  ["an expired token", async (c) => `Bearer ${await after(c, () => c.sandbox.expire(c.store))}`],
  ["another store's token", async (c) => `Bearer ${(await c.login("rosas-bikes")).access_token}`],
  ["a refresh token", async (c) => `Bearer ${(await c.login()).refresh_token}`],
  ["a code", async (c) => `Bearer ${c.codeFor()}`],
  ["a token without its scheme", async (c) => (await c.login()).access_token],
  ["another scheme", async (c) => `Basic ${(await c.login()).access_token}`],
  ["two tokens", async (c) => `Bearer ${(await c.login()).access_token}, Bearer x`],
  ["an empty token", async () => "Bearer "],
];
for (const [what, authorization] of refused) {
  test(`${what}: 401 invalid_token`, async () => {
    const client = await startClient();
    const headers = { authorization: await authorization(client) };
    const response = await client.call("/api/products", undefined, { headers });
    expect(response.status).toBe(401);
    expect(response.headers.get("www-authenticate")).toMatch(/^Bearer .*error="invalid_token"/);
  });
}

test("no token: 401 and Bearer, without an error (RFC 6750, 3.1)", async () => {
  const client = await startClient();
  const response = await client.call("/api/products");
  expect(response.status).toBe(401);
  expect(response.headers.get("www-authenticate")).toBe('Bearer realm="retail-pos"');
});

test("a token in the query is no token", async () => {
  const client = await startClient();
  const { access_token } = await client.login();
  expect((await client.call(`/api/products?access_token=${access_token}`)).status).toBe(401);
});

test("an access token lives exactly as long as it said", async () => {
  const clock = virtualClock();
  const client = await startClient({ clock, lifetimeMs: 60_000 });
  const { access_token } = await client.login();
  clock.advance(59_999);
  expect((await client.call("/api/products", access_token)).status).toBe(200);
  clock.advance(1);
  expect((await client.call("/api/products", access_token)).status).toBe(401);
});

test("the API has no rate limit headers", async () => {
  const client = await startClient();
  const { access_token } = await client.login();
  expect((await client.call("/api/products", access_token)).headers.has("x-ratelimit-limit")).toBe(false);
});

interface Page {
  data: { id: string; sku: string; name: string }[];
}

function json(body: string): RequestInit {
  return { method: "POST", body, headers: { "content-type": "application/json" } };
}

async function after(client: Client, change: () => unknown): Promise<string> {
  const { access_token } = await client.login();
  change();
  return access_token;
}
