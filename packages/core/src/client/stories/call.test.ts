import { inspect } from "node:util";
import nock from "nock";
import { describe, expect, test } from "vitest";
import { connected, recorder, shop } from "../../../testing/retailer-client.js";
import { NotConnectedError } from "../../vocabulary/errors.js";

describe("a call", () => {
  test("carries the bearer and everything the caller gave", async () => {
    const { client, seen } = await shop();
    const response = await client.fetch("/api/products/1?page=2", {
      method: "PATCH",
      body: '{"name":"tea"}',
      headers: { "content-type": "application/json", "x-mine": "1" },
    });
    expect(response.status).toBe(200);
    expect(seen).toEqual([
      expect.objectContaining({
        method: "PATCH",
        url: "/shop/api/products/1?page=2",
        body: '{"name":"tea"}',
      }),
    ]);
    expect(seen[0]?.headers).toMatchObject({
      authorization: "Bearer access-1",
      "content-type": "application/json",
      "x-mine": "1",
    });
  });

  test("takes a Request as init, and an init with getters, as the platform does", async () => {
    const { client, seen } = await shop();
    const init = new Request("https://caller.example/", {
      method: "POST",
      body: "tea",
      headers: { "x-mine": "1" },
    });
    await client.fetch("/api/products", init);
    class Options {
      get method() {
        return "DELETE";
      }
    }
    await client.fetch("/api/products/1", new Options());
    expect(seen).toMatchObject([
      { method: "POST", body: "tea", headers: { "x-mine": "1", authorization: "Bearer access-1" } },
      { method: "DELETE", url: "/shop/api/products/1" },
    ]);
  });

  test("takes a Request, with its method, headers and body", async () => {
    const { client, seen } = await shop();
    const request = new Request(`${client.baseUrl}/api/products`, {
      method: "POST",
      body: "tea",
      headers: { "x-mine": "1", authorization: "Bearer mine" },
    });
    await client.fetch(request);
    expect(seen[0]).toMatchObject({ method: "POST", url: "/shop/api/products", body: "tea" });
    expect(seen[0]?.headers).toMatchObject({ authorization: "Bearer access-1", "x-mine": "1" });
  });

  test("takes a Request and what overrides it", async () => {
    const { client, seen } = await shop();
    const request = new Request(`${client.baseUrl}/api/products`, { method: "POST", body: "tea" });
    await client.fetch(request, { method: "PUT", body: "coffee", headers: { "x-mine": "2" } });
    expect(seen[0]).toMatchObject({ method: "PUT", body: "coffee" });
    expect(seen[0]?.headers).toMatchObject({ authorization: "Bearer access-1", "x-mine": "2" });
  });

  test("goes to the retailer's own https host", async () => {
    nock.activate();
    nock.disableNetConnect();
    const scope = nock("https://shop.retail.example", { reqheaders: { authorization: "Bearer access-1" } })
      .get("/pos/api/products")
      .reply(200, "tea");
    const { client } = await connected({ baseUrl: "https://{domain_prefix}.retail.example/pos/" });
    expect(client.baseUrl).toBe("https://shop.retail.example/pos");
    expect(await (await client.fetch("api/products")).text()).toBe("tea");
    expect(scope.isDone()).toBe(true);
  });

  const headers: Array<{ name: string; headers: NonNullable<RequestInit["headers"]> }> = [
    { name: "lower case", headers: { authorization: "Bearer mine" } },
    { name: "as usual", headers: { Authorization: "Basic bWluZQ==" } },
    { name: "capitals", headers: { AUTHORIZATION: "Bearer mine" } },
    { name: "mixed case", headers: { aUtHoRiZaTiOn: "Bearer mine" } },
    { name: "twice", headers: { authorization: "Bearer mine", Authorization: "Bearer mine" } },
    { name: "in Headers", headers: new Headers({ Authorization: "Bearer mine" }) },
    {
      name: "in pairs",
      headers: [
        ["AUTHORIZATION", "Bearer mine"],
        ["authorization", "Bearer mine"],
      ],
    },
  ];
  for (const { name, headers: given } of headers) {
    test(`replaces an Authorization that the caller gives: ${name}`, async () => {
      const { client, seen } = await shop();
      await client.fetch("/api/products", { headers: given });
      expect(seen[0]?.headers.authorization).toBe("Bearer access-1");
      await client.fetch(new Request(`${client.baseUrl}/api/products`, { headers: given }));
      expect(seen[1]?.headers.authorization).toBe("Bearer access-1");
    });
  }

  test("does not change what the caller passed", async () => {
    const { client } = await shop();
    const given = new Headers({ authorization: "Bearer mine" });
    const init = Object.freeze({ headers: given });
    await client.fetch("/api/products", init);
    expect(given.get("authorization")).toBe("Bearer mine");
  });

  test("without tokens is a NotConnectedError, and nothing is sent", async () => {
    const { calls, fetch } = recorder();
    const { pos } = await connected({ fetch });
    await expect(pos.retailer("other").fetch("/api/products")).rejects.toThrow(NotConnectedError);
    expect(calls).toEqual([]);
  });

  test("that is aborted before it begins sends nothing, and does not poison the next", async () => {
    const { client, seen } = await shop();
    const signal = AbortSignal.abort(new Error("enough"));
    await expect(client.fetch("/api/products", { signal })).rejects.toThrow("enough");
    const request = new Request(`${client.baseUrl}/api/products`, { signal });
    await expect(client.fetch(request)).rejects.toThrow("enough");
    expect(seen).toEqual([]);
    expect((await client.fetch("/api/products")).status).toBe(200);
  });

  test("that is aborted under way ends", async () => {
    const { client } = await shop({ api: () => {} });
    const controller = new AbortController();
    const call = client.fetch("/api/products", { signal: controller.signal });
    controller.abort(new Error("enough"));
    await expect(call).rejects.toThrow("enough");
  });
});

test("a client is its retailer's: prefix, baseUrl and nothing secret to print", async () => {
  const { client } = await connected({ baseUrl: "https://retail.example/r/{domain_prefix}/" });
  expect(client).toMatchObject({ domainPrefix: "shop", baseUrl: "https://retail.example/r/shop" });
  await client.token();
  const printed = `${inspect(client, { depth: 10, showHidden: true })} ${JSON.stringify(client)}`;
  expect(printed).not.toMatch(/access-1|refresh-1|the secret/);
});

test("the error about an address shows no token", async () => {
  const { client } = await connected({ fetch: recorder().fetch });
  const error = await client.fetch("https://evil.example/").catch((reason: unknown) => reason);
  expect(inspect(error, { depth: 10, showHidden: true })).not.toMatch(/access-1|refresh-1|the secret/);
});
