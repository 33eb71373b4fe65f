import { describe, expect, test } from "vitest";
import { alone, served, shop, toNew } from "../../../testing/retailer-client.js";
import { personalToken } from "../personal-token.js";

describe("a redirect, where each retailer has an origin of its own,", () => {
  for (const status of [301, 302, 303, 307, 308]) {
    test(`to another origin does not carry the bearer: ${status}`, async () => {
      const elsewhere = await served((_, response) => response.end("elsewhere"));
      const { client, seen } = await alone({
        api: (_, response) => response.writeHead(status, { location: `${elsewhere.url}/x` }).end(),
      });
      for (const method of ["GET", "POST"]) {
        const init = method === "GET" ? {} : { method, body: "tea" };
        expect(await (await client.fetch("/api/products", init)).text()).toBe("elsewhere");
      }
      expect(seen.map(({ headers }) => headers.authorization)).toEqual([
        "Bearer access-1",
        "Bearer access-1",
      ]);
      expect(elsewhere.seen).toHaveLength(2);
      for (const { headers } of elsewhere.seen) expect(headers.authorization).toBeUndefined();
    });
  }

  test("within the origin keeps it", async () => {
    const { client, seen } = await alone({ api: toNew() });
    expect(await (await client.fetch("/api/old")).text()).toBe("new");
    expect(seen.map(({ url, headers }) => [url, headers.authorization])).toEqual([
      ["/shop/api/old", "Bearer access-1"],
      ["/shop/api/new", "Bearer access-1"],
    ]);
  });

  test("to another origin that answers 401 says nothing about the token: no renewal, no retry", async () => {
    const elsewhere = await served((_, response) => response.writeHead(401).end());
    const { client, renewals, seen } = await alone({
      api: (_, response) => response.writeHead(302, { location: `${elsewhere.url}/x` }).end(),
    });
    expect((await client.fetch("/api/products")).status).toBe(401);
    expect([seen.length, elsewhere.seen.length, renewals()]).toEqual([1, 1, 0]);
  });

  test("within the origin that ends at a 401 says nothing either, however often", async () => {
    const { client, renewals, seen } = await alone({ api: toNew({ status: 401 }) });
    for (let count = 0; count < 20; count += 1) {
      const response = await client.fetch(`/api/old?${count}`);
      expect([response.status, await response.text()]).toEqual([401, "new"]);
    }
    expect([seen.length, renewals()]).toEqual([40, 0]);
  });

  test("that is not to be followed is returned", async () => {
    const { client, seen } = await alone({ api: toNew({ location: "https://evil.example/" }) });
    expect((await client.fetch("/api/old", { redirect: "manual" })).status).toBe(302);
    expect(seen).toHaveLength(1);
  });
});

describe("a redirect, where retailers share an origin,", () => {
  const asked: Array<{ name: string; init?: RequestInit; inRequest?: RequestInit }> = [
    { name: "as the default is" },
    { name: "where the caller asks to follow", init: { redirect: "follow" } },
    { name: "where the caller asks for it", init: { redirect: "manual" } },
    { name: "of a Request", inRequest: {} },
    {
      name: "of a Request that asks to follow",
      inRequest: { redirect: "follow", method: "POST", body: "a" },
    },
    { name: "of a Request, where init asks to follow", inRequest: {}, init: { redirect: "follow" } },
  ];
  for (const { name, init, inRequest } of asked) {
    test(`is returned, and another retailer's address never sees the bearer: ${name}`, async () => {
      const { client, seen } = await shop({ api: toNew({ location: "/other/api/new" }) });
      const address = `${client.baseUrl}/api/old`;
      const response = await client.fetch(inRequest ? new Request(address, inRequest) : address, init);
      expect([response.status, response.headers.get("location")]).toEqual([302, "/other/api/new"]);
      expect(seen.map(({ url }) => url)).toEqual(["/shop/api/old"]);
    });
  }

  test("is an error where the caller wants an error", async () => {
    const { client, seen } = await shop({ api: toNew({ location: "/other/api/new" }) });
    await expect(client.fetch("/api/old", { redirect: "error" })).rejects.toThrow(TypeError);
    const request = new Request(`${client.baseUrl}/api/old`, { redirect: "error" });
    await expect(client.fetch(request)).rejects.toThrow(TypeError);
    expect(seen).toHaveLength(2);
  });

  const addresses = [
    { baseUrl: "/{domain_prefix}", follows: false },
    { baseUrl: "/shop", follows: false },
    { baseUrl: "/r/Shop/v2", follows: false },
    { baseUrl: "", follows: true },
    { baseUrl: "/shopping", follows: true },
  ];
  for (const { baseUrl, follows } of addresses) {
    test(`with a Personal Token for "shop" below "${baseUrl}" it is ${follows ? "followed" : "returned"}`, async () => {
      const { seen, url } = await served(toNew());
      const client = personalToken({ baseUrl: url + baseUrl, domainPrefix: "shop", token: "personal" });
      expect((await client.fetch("/api/old")).status).toBe(follows ? 200 : 302);
      expect(seen).toHaveLength(follows ? 2 : 1);
    });
  }
});
