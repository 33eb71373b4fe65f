import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { inspect } from "node:util";
import nock from "nock";
import { afterEach, describe, expect, test } from "vitest";
import { type DomainPrefix, parseDomainPrefix } from "./domain-prefix.js";
import { NotConnectedError, ReconnectRequiredError } from "./errors.js";
import { memoryStore } from "./memory-store.js";
import type { RetailPosOptions } from "./options.js";
import { personalToken } from "./personal-token.js";
import { retailPos } from "./retail-pos.js";
import { type RetailerClient, retailerClients } from "./retailer-client.js";
import type { TokenSet } from "./token-set.js";
import type { TokenSource } from "./token-source.js";

const T0 = Date.UTC(2030, 0, 1);
const DAY_MS = 86_400_000;

nock.restore(); // importing nock switches it on
const closing: Array<() => void> = [];

afterEach(() => {
  nock.cleanAll();
  nock.enableNetConnect();
  nock.restore();
  for (const close of closing.splice(0)) close();
});

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

describe("an address within baseUrl is", () => {
  const templates = [
    { baseUrl: "https://{domain_prefix}.retail.example", base: "https://shop.retail.example" },
    { baseUrl: "https://{domain_prefix}.retail.example/pos/v2", base: "https://shop.retail.example/pos/v2" },
    { baseUrl: "https://retail.example/r/{domain_prefix}/", base: "https://retail.example/r/shop" },
    { baseUrl: "http://127.0.0.1:9/{domain_prefix}", base: "http://127.0.0.1:9/shop" },
  ];
  const rows: Array<{ name: string; input: string; path: string }> = [
    { name: "relative with a slash", input: "/api/products", path: "/api/products" },
    { name: "relative without", input: "api/products", path: "/api/products" },
    { name: "a query", input: "/api/products?a=b&c=%2F..%2F", path: "/api/products?a=b&c=%2F..%2F" },
    {
      name: "a query with another address in it",
      input: "/api?next=https://evil.example/",
      path: "/api?next=https://evil.example/",
    },
    { name: "a query with dots and slashes", input: "/api?next=//../../x", path: "/api?next=//../../x" },
    {
      name: "a path with another address in it",
      input: "/api/https://evil.example",
      path: "/api/https://evil.example",
    },
    { name: "a colon after the first segment", input: "/api/items:search", path: "/api/items:search" },
    { name: "a colon in the first segment, behind a slash", input: "/items:search", path: "/items:search" },
    { name: "an @", input: "/@evil.example/x", path: "/@evil.example/x" },
    { name: "an @ without a slash", input: "@evil.example/x", path: "/@evil.example/x" },
    { name: "what would be a port", input: ":8080/x", path: "/:8080/x" },
    { name: "what would be a longer host", input: ".evil.example/x", path: "/.evil.example/x" },
    { name: "dots that stay inside", input: "/api/a/../b", path: "/api/b" },
    { name: "single dots", input: "./api/./b", path: "/api/b" },
    { name: "encoded characters", input: "/api/a%20b%3Fc", path: "/api/a%20b%3Fc" },
    { name: "a percent sign encoded twice", input: "/api/%252e%252e%252f", path: "/api/%252e%252e%252f" },
    { name: "dots that are a name", input: "/api/.../..a/b..", path: "/api/.../..a/b.." },
    { name: "double slashes inside", input: "/api//b", path: "/api//b" },
    { name: "an encoded slash in a name", input: "/api/a%2Fb/c", path: "/api/a%2Fb/c" },
    { name: "two encoded slashes in the first name", input: "/a%2fb%2fc", path: "/a%2fb%2fc" },
    { name: "an encoded backslash in a name", input: "/api/a%5cb", path: "/api/a%5cb" },
    { name: "matrix parameters", input: "/api;v=2/items;a=b;c/x", path: "/api;v=2/items;a=b;c/x" },
    { name: "a name that is a semicolon", input: "/;/api", path: "/;/api" },
    { name: "dots that stay inside, as some servers see them", input: "/api/a/..;/b", path: "/api/a/..;/b" },
    {
      name: "an address encoded twice",
      input: "/api/https%253A%252F%252Fa",
      path: "/api/https%253A%252F%252Fa",
    },
    { name: "a percent sign", input: "/api/100%25", path: "/api/100%25" },
    { name: "a percent sign before what looks encoded", input: "/api/50%25ab", path: "/api/50%25ab" },
    { name: "full-width letters", input: "/api/ＡＢ", path: "/api/%EF%BC%A1%EF%BC%A2" },
    { name: "bytes of another character set", input: "/api/M%FCller", path: "/api/M%FCller" },
    { name: "dots of a sentence", input: "/api/wait%E2%80%A6", path: "/api/wait%E2%80%A6" },
    { name: "letters of all scripts", input: "/api/чай", path: "/api/%D1%87%D0%B0%D0%B9" },
  ];
  for (const { baseUrl, base } of templates) {
    for (const { name, input, path } of rows) {
      test(`kept: ${name} in ${baseUrl}`, async () => {
        const { calls, fetch } = recorder();
        const { client } = await connected({ baseUrl, fetch });
        await client.fetch(input);
        expect(calls).toEqual([`${base}${path}`]);
      });
    }

    test(`kept when it is absolute, as a text, a URL or a Request, in ${baseUrl}`, async () => {
      const { calls, fetch } = recorder();
      const { client } = await connected({ baseUrl, fetch });
      const url = `${base}/api/products?a=b`;
      const inputs = [url, url.replace(/^http/, "HTTP"), new URL(url), new Request(url), base, new URL(base)];
      for (const input of inputs) await client.fetch(input);
      expect(calls).toEqual([url, url, url, url, new URL(base).href, new URL(base).href]);
    });

    test(`baseUrl's own, where the input is empty or a query alone, in ${baseUrl}`, async () => {
      const { calls, fetch } = recorder();
      const { client } = await connected({ baseUrl, fetch });
      for (const input of ["", "/", "?a=b", "."]) await client.fetch(input);
      expect(calls.map((call) => call.replace(/\/(?=\?|$)/, ""))).toEqual([base, base, `${base}?a=b`, base]);
    });
  }
});

describe("an address outside baseUrl is a TypeError, and nothing is sent:", () => {
  const anywhere: Array<{ name: string; input: unknown }> = [
    { name: "//evil", input: "//evil.example/x" },
    { name: "///evil", input: "///evil.example/x" },
    { name: "\\\\evil", input: "\\\\evil.example\\x" },
    { name: "/\\evil", input: "/\\evil.example/x" },
    { name: "\\/evil", input: "\\/evil.example/x" },
    { name: "a tab before //evil", input: "\t//evil.example/x" },
    { name: "a tab inside //", input: "/\t/evil.example/x" },
    { name: "a newline inside //", input: "/\n/evil.example/x" },
    { name: "a carriage return inside //", input: "/\r/evil.example/x" },
    { name: "a tab inside the scheme", input: "ht\ttps://evil.example/x" },
    { name: "a newline before the scheme", input: "\nhttps://evil.example/x" },
    { name: "a space before the scheme", input: " https://evil.example/x" },
    { name: "a null character", input: "/api\0/x" },
    { name: "another host", input: "https://evil.example/x" },
    { name: "another host in capitals", input: "HTTPS://EVIL.EXAMPLE/x" },
    { name: "another host as a URL", input: new URL("https://evil.example/x") },
    { name: "another host as a Request", input: new Request("https://evil.example/x") },
    { name: "another scheme", input: "http://shop.retail.example/r/shop/x" },
    { name: "another port", input: "https://shop.retail.example:8443/r/shop/x" },
    { name: "a longer host", input: "https://shop.retail.example.evil.example/r/shop/x" },
    { name: "the host's root dot", input: "https://shop.retail.example./r/shop/x" },
    { name: "the host as a user name", input: "https://shop.retail.example@evil.example/r/shop/x" },
    { name: "the host as a password", input: "https://a:shop.retail.example@evil.example/r/shop/x" },
    { name: "a backslash before an @", input: "https://evil.example\\@shop.retail.example/r/shop/x" },
    { name: "a user name on the right host", input: "https://user@shop.retail.example/r/shop/x" },
    {
      name: "a password on the right host",
      input: new URL("https://:password@shop.retail.example/r/shop/x"),
    },
    { name: "http:evil", input: "http:evil.example/x" },
    { name: "https:evil", input: "https:evil.example/x" },
    { name: "https:/evil", input: "https:/evil.example/x" },
    { name: "https:\\\\evil", input: "https:\\\\evil.example/x" },
    { name: "https:path", input: "https:x" },
    { name: "JavaScript", input: "javascript:alert(1)" },
    { name: "data", input: "data:text/plain,x" },
    { name: "a file", input: "file:///etc/passwd" },
    { name: "a blob of the right origin", input: "blob:https://shop.retail.example/r/shop/x" },
    { name: "a WebSocket on the right host", input: "wss://shop.retail.example/r/shop/x" },
    { name: "dots", input: "../x" },
    { name: "dots behind a slash", input: "/../x" },
    { name: "more dots", input: "../../../x" },
    { name: "dots alone", input: ".." },
    { name: "dots after a segment", input: "/api/../../x" },
    { name: "dots and the way back in", input: "/../shop/x" },
    { name: "encoded dots", input: "%2e%2e/x" },
    { name: "encoded dots in capitals", input: "/%2E%2E/x" },
    { name: "half encoded dots", input: "/.%2e/x" },
    { name: "an encoded slash", input: "..%2fx" },
    { name: "an encoded slash in capitals", input: "/..%2Fx" },
    { name: "everything encoded", input: "%2e%2e%2fx" },
    { name: "an encoded backslash", input: "/..%5cx" },
    { name: "a backslash after dots", input: "..\\x" },
    { name: "a tab inside dots", input: "/.\t./x" },
    { name: "a newline inside dots", input: "/.\n./x" },
    { name: "encoded dots after a segment", input: "/api/%2e%2e/%2e%2e/x" },
    { name: "encoded slashes after a segment", input: "/api/..%2f..%2fx" },
    { name: "dots behind a double slash inside", input: "/api//../../../x" },
    { name: "nothing at all", input: undefined },
    { name: "null", input: null },
    { name: "a number", input: 5 },
    { name: "an object", input: {} },
    { name: "an array", input: ["https://evil.example/x"] },
  ];
  const templates = [
    "https://{domain_prefix}.retail.example",
    "https://{domain_prefix}.retail.example/r/shop",
    "https://shop.retail.example/r/{domain_prefix}",
  ];
  for (const baseUrl of templates) {
    for (const { name, input } of anywhere) {
      test(`${name} in ${baseUrl}`, async () => {
        const { calls, fetch } = recorder();
        const { client } = await connected({ baseUrl, fetch });
        await expect(client.fetch(input as string)).rejects.toThrow(TypeError);
        expect(calls).toEqual([]);
      });
    }
  }

  /** What some servers take for `..`. */
  const lenient = [
    { name: "a semicolon behind dots", dots: "..;" },
    { name: "a matrix parameter behind dots", dots: "..;a=b" },
    { name: "two matrix parameters", dots: "..;a=b;c" },
    { name: "an encoded semicolon", dots: "..%3b" },
    { name: "an encoded semicolon with a slash behind", dots: "..%3ba%2fb" },
    { name: "dots and a semicolon, encoded", dots: "%2e%2e%3B" },
    { name: "a segment that a semicolon empties, then dots", dots: ";a/..;" },
    { name: "a single dot with a parameter, then dots", dots: ".;a/..;a" },
    { name: "dots encoded twice", dots: "%252e%252e" },
    { name: "dots encoded twice, in capitals", dots: "%252E%252E" },
    { name: "one of them encoded twice", dots: ".%252e" },
    { name: "dots encoded three times", dots: "%25252e%25252e" },
    { name: "dots encoded nine times", dots: `%${"25".repeat(8)}2e.` },
    { name: "a slash encoded twice", dots: "..%252f.." },
    { name: "a backslash encoded twice", dots: "..%255c.." },
    { name: "each digit encoded", dots: "%%32%65%%32%65" },
    { name: "overlong, two bytes", dots: "%c0%ae%c0%ae" },
    { name: "overlong, two bytes, in capitals", dots: "%C0%AE%C0%AE" },
    { name: "overlong, with a careless second byte", dots: "%c0%2e%c0%6e" },
    { name: "overlong, with a bare dot for the second byte", dots: "%c0.%c0." },
    { name: "overlong, three bytes", dots: "%e0%80%ae%e0%80%ae" },
    { name: "overlong, four bytes", dots: "%f0%80%80%ae%f0%80%80%ae" },
    { name: "overlong, five bytes", dots: "%f8%80%80%80%ae." },
    { name: "overlong, six bytes", dots: "%fc%80%80%80%80%ae." },
    { name: "an overlong slash", dots: "..%c0%af.." },
    { name: "an overlong backslash", dots: "..%c1%9c.." },
    { name: "overlong, encoded twice", dots: "%25c0%25ae%25c0%25ae" },
    { name: "a letter u", dots: "%u002e%u002E" },
    { name: "a letter u and a full-width dot", dots: "%uff0e%uff0e" },
    { name: "a null character behind dots", dots: "..%00" },
    { name: "a null character and a name behind dots", dots: "..%00.json" },
    { name: "a newline inside dots, encoded", dots: ".%0a." },
    { name: "a space behind dots, encoded", dots: "..%20" },
    { name: "a soft hyphen inside dots", dots: ".%c2%ad." },
    { name: "a byte that is no text", dots: "..%ff" },
    { name: "an encoded question mark", dots: "..%3f" },
    { name: "an encoded number sign", dots: "..%23" },
    { name: "full-width dots", dots: "．．" },
    { name: "full-width dots, encoded", dots: "%ef%bc%8e%ef%bc%8e" },
    { name: "a full-width percent sign", dots: "％2e％2e" },
    { name: "a full-width slash", dots: "..／.." },
    { name: "a full-width semicolon", dots: "..；a" },
    { name: "one dot leaders", dots: "․․" },
    { name: "a two dot leader", dots: "‥" },
    { name: "ideographic dots", dots: "。。" },
    { name: "a division slash", dots: "..%e2%88%95.." },
    { name: "a name that an encoded slash makes two, then dots", dots: "a%2fb/..;/..;" },
    { name: "the same in one segment", dots: "a%2fb%2f..%2f..%2f.." },
  ];
  const underAPath: Array<{ name: string; input: string | URL | Request }> = [
    { name: "the root", input: "https://retail.example/" },
    { name: "another retailer", input: "https://retail.example/r/other/x" },
    { name: "a retailer whose name begins alike", input: "https://retail.example/r/shop2/x" },
    { name: "a relative way to another retailer", input: "../other/x" },
    { name: "a way out of an absolute address", input: "https://retail.example/r/shop/../other/x" },
    { name: "an encoded way out", input: "https://retail.example/r/shop/%2e%2e/other/x" },
    { name: "a way out behind an encoded slash", input: "https://retail.example/r/shop/..%2fother/x" },
    { name: "a fully encoded way out", input: "https://retail.example/r/shop/%2e%2e%2fother/x" },
    { name: "a way out behind an encoded backslash", input: "https://retail.example/r/shop/..%5Cother/x" },
    { name: "an encoded way out that the URL parser makes", input: "a%2fb/../..%2fother/api" },
    { name: "the same behind an encoded backslash", input: "/a%5cb/../..%5cother/api" },
    { name: "the same, encoded throughout", input: "/a%2fb/%2e%2e/..%2fother" },
    { name: "an encoded slash after the name", input: "https://retail.example/r/shop%2f..%2fother/x" },
    { name: "the name in capitals", input: "https://retail.example/r/SHOP/x" },
    { name: "a URL object", input: new URL("https://retail.example/r/other/x") },
    {
      name: "a URL object with an encoded way out",
      input: new URL("https://retail.example/r/shop/..%2fother"),
    },
    { name: "a Request", input: new Request("https://retail.example/r/other/x") },
    {
      name: "a Request with an encoded way out",
      input: new Request("https://retail.example/r/shop/..%2fother"),
    },
    { name: "a segment with an encoded slash, then out", input: "a%2fb/../../other/x" },
    ...lenient.map(({ name, dots }) => ({ name: `${name}, relative`, input: `${dots}/other/x` })),
    ...lenient.map(({ name, dots }) => ({ name: `${name}, behind a slash`, input: `/${dots}/other/x` })),
    ...lenient.map(({ name, dots }) => ({ name: `${name}, in the middle`, input: `/a/${dots}/${dots}/x` })),
    ...lenient.map(({ name, dots }) => ({
      name: `${name}, absolute`,
      input: `https://retail.example/r/shop/${dots}/other/x`,
    })),
    { name: "the same, absolute", input: "https://retail.example/r/shop/a%2fb/../../other/x" },
  ];
  for (const { name, input } of underAPath) {
    test(`${name} in https://retail.example/r/{domain_prefix}`, async () => {
      const { calls, fetch } = recorder();
      const { client } = await connected({ baseUrl: "https://retail.example/r/{domain_prefix}", fetch });
      await expect(client.fetch(input)).rejects.toThrow(TypeError);
      expect(calls).toEqual([]);
    });
  }

  test("and no token is asked for", async () => {
    const asked: unknown[] = [];
    const client = retailerClient({
      domainPrefix: parseDomainPrefix("shop"),
      baseUrl: "https://shop.retail.example",
      renews: true,
      sharesOrigin: false,
      fetch: recorder().fetch,
      source: {
        token: async (ask) => {
          asked.push(ask);
          return { value: "access" };
        },
      },
    });
    await expect(client.fetch("//evil.example")).rejects.toThrow(TypeError);
    expect(asked).toEqual([]);
  });
});

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

describe("a Request that lies about its address is sent where it was checked, or nowhere:", () => {
  const [near, far] = ["https://retail.example/r/shop/x", "https://evil.example/x"];
  const lie = (truth: string, lies: () => string) => {
    const subclass = class extends Request {};
    Object.defineProperty(subclass.prototype, "url", { get: lies });
    const proxy = (request: Request) =>
      new Proxy(request, {
        get: (target, name) => (name === "url" ? lies() : Reflect.get(target, name, target)),
      });
    const own = Object.defineProperty(new Request(truth), "url", { get: lies });
    return {
      "an own property": own,
      "a subclass": new subclass(truth),
      "a Proxy": proxy(new Request(truth)),
    };
  };
  const once = (first: string, then: string) => {
    const said = [first];
    return () => said.shift() ?? then;
  };
  const rows = [
    { what: "elsewhere, and says near", truth: far, lies: () => () => near },
    { what: "elsewhere, and says near the first time", truth: far, lies: () => once(near, far) },
    { what: "near, and says elsewhere", truth: near, lies: () => () => far },
    { what: "near, and says elsewhere later", truth: near, lies: () => once(near, far) },
  ];
  for (const { what, truth, lies } of rows) {
    for (const [kind, request] of Object.entries(lie(truth, lies()))) {
      test(`${kind}, that is ${what}`, async () => {
        const sent: string[] = [];
        const client = personalToken({
          baseUrl: "https://retail.example/r/{domain_prefix}",
          domainPrefix: "shop",
          token: "personal",
          fetch: async (input, init) => {
            sent.push(new Request(input, init).url);
            return new Response();
          },
        });
        await client.fetch(request).catch((error: unknown) => expect(error).toBeInstanceOf(TypeError));
        expect(sent.filter((url) => url !== near)).toEqual([]);
      });
    }
  }

  test("a state that a Proxy exchanges between two looks is noticed", async () => {
    const [honest, other] = [new Request(near), new Request(far)];
    let looks = 0;
    const changing = new Proxy(honest, {
      get: (_, name) => {
        looks += 1;
        return Reflect.get(looks > 1 ? other : honest, name);
      },
    });
    const sent: string[] = [];
    const client = personalToken({
      baseUrl: "https://retail.example/r/{domain_prefix}",
      domainPrefix: "shop",
      token: "personal",
      fetch: async (input, init) => {
        sent.push(new Request(input, init).url);
        return new Response();
      },
    });
    await expect(client.fetch(changing)).rejects.toThrow(TypeError);
    expect(sent).toEqual([]);
  });
});

describe("a 401", () => {
  test("is answered by one renewal and one retry", async () => {
    const { client, renewals, seen } = await shop({ accepts: "access-2" });
    const response = await client.fetch("/api/products");
    expect([response.status, await response.text()]).toEqual([200, "ok"]);
    expect(seen.map(({ headers }) => headers.authorization)).toEqual(["Bearer access-1", "Bearer access-2"]);
    expect(renewals()).toBe(1);
    expect((await client.token()).value).toBe("access-2");
  });

  test("of the retry is returned: at most one retry", async () => {
    const { client, renewals, seen } = await shop({ accepts: "nothing" });
    const response = await client.fetch("/api/products");
    expect([response.status, await response.text()]).toEqual([401, "no"]);
    expect([seen.length, renewals()]).toEqual([2, 1]);
  });

  test("replaces a custom Authorization in the retry, too", async () => {
    const { client, seen } = await shop({ accepts: "access-2" });
    await client.fetch("/api/products", { headers: { AUTHORIZATION: "Bearer mine", "x-mine": "1" } });
    expect(seen[1]?.headers).toMatchObject({ authorization: "Bearer access-2", "x-mine": "1" });
  });

  test("of a token that the store has replaced already renews nothing", async () => {
    const store = memoryStore();
    const { client, renewals, seen } = await shop({
      accepts: "access-of-another-process",
      options: { store },
    });
    await client.token();
    await store.save(tokenSet({ access: { value: "access-of-another-process" }, version: "2" }));
    expect((await client.fetch("/api/products")).status).toBe(200);
    expect(seen).toHaveLength(2);
    expect(renewals()).toBe(0);
  });

  test("of many calls at once costs one renewal", async () => {
    const { client, renewals, seen } = await shop({ accepts: "access-2" });
    const responses = await Promise.all(Array.from({ length: 20 }, () => client.fetch("/api/products")));
    expect(responses.map(({ status }) => status)).toEqual(Array(20).fill(200));
    expect(renewals()).toBe(1);
    expect(seen.length).toBeLessThanOrEqual(40);
  });

  test("that one address answers to every token is returned each time, and the others are served", async () => {
    const { client, renewals } = await shop({
      api: (request, response) => response.writeHead(request.url?.endsWith("/plan") ? 401 : 200).end("text"),
    });
    for (let count = 0; count < 20; count += 1) {
      const response = await client.fetch("/api/plan", { method: "POST", body: "text" });
      expect([response.status, await response.text()]).toEqual([401, "text"]);
      expect((await client.fetch("/api/products")).status).toBe(200);
    }
    expect(renewals()).toBe(10);
  });

  for (const status of [400, 403, 404, 429, 500, 503]) {
    test(`is a 401 and not a ${status}, which is returned as it is`, async () => {
      const { client, renewals, seen } = await shop({
        api: (_, response) => response.writeHead(status).end("no"),
      });
      const response = await client.fetch("/api/products");
      expect([response.status, await response.text()]).toEqual([status, "no"]);
      expect([seen.length, renewals()]).toEqual([1, 0]);
    });
  }

  test("whose renewal is refused is a ReconnectRequiredError", async () => {
    const { client, seen } = await shop({ accepts: "nothing", refuses: true });
    await expect(client.fetch("/api/products")).rejects.toThrow(ReconnectRequiredError);
    expect(seen).toHaveLength(1);
  });

  test("whose renewal fails at once leaves no rejection unhandled, however slowly its body goes away", async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown) => unhandled.push(reason);
    process.on("unhandledRejection", note);
    const client = retailerClient({
      domainPrefix: parseDomainPrefix("shop"),
      baseUrl: "https://shop.retail.example",
      renews: true,
      sharesOrigin: false,
      fetch: async () => {
        const cancel = () => new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve)));
        return new Response(new ReadableStream({ cancel }), { status: 401 });
      },
      source: {
        token: async ({ rejected } = {}) => {
          if (rejected) throw new ReconnectRequiredError("refused");
          return { value: "access" };
        },
      },
    });
    await expect(client.fetch("/api/products")).rejects.toThrow(ReconnectRequiredError);
    process.off("unhandledRejection", note);
    expect(unhandled).toEqual([]);
  });
});

describe("after a 401 a body is sent again intact:", () => {
  const bytes = Uint8Array.from({ length: 100_000 }, (_, index) => index % 251);
  const rows: Array<{ name: string; make: () => NonNullable<RequestInit["body"]> }> = [
    { name: "a text", make: () => '{"name":"чай"}' },
    { name: "an empty text", make: () => "" },
    { name: "URLSearchParams", make: () => new URLSearchParams({ name: "tea & milk", size: "é" }) },
    { name: "a Blob", make: () => new Blob([bytes, "tail"], { type: "image/png" }) },
    { name: "a Uint8Array", make: () => bytes },
    { name: "a part of a larger buffer", make: () => bytes.subarray(10, 20) },
    { name: "a Buffer", make: () => Buffer.from("чай") },
    { name: "an ArrayBuffer", make: () => bytes.buffer },
    { name: "a DataView", make: () => new DataView(bytes.buffer, 5, 10) },
  ];
  for (const { name, make } of rows) {
    test(name, async () => {
      const { client, seen } = await shop({ accepts: "access-2" });
      expect((await client.fetch("/api/products", { method: "POST", body: make() })).status).toBe(200);
      await sentTwice(seen, make());
    });

    test(`${name} in a Request`, async () => {
      const { client, seen } = await shop({ accepts: "access-2" });
      const request = new Request(`${client.baseUrl}/api/products`, { method: "POST", body: make() });
      expect((await client.fetch(request)).status).toBe(200);
      await sentTwice(seen, make());
    });

    test(`${name} in place of a Request's own`, async () => {
      const { client, seen } = await shop({ accepts: "access-2" });
      const request = new Request(`${client.baseUrl}/api/products`, { method: "POST", body: "other" });
      expect((await client.fetch(request, { body: make() })).status).toBe(200);
      expect(seen.map(({ raw }) => raw)).toEqual(Array(2).fill(await bytesOf(make())));
    });
  }

  test("FormData, with files and a boundary that fits", async () => {
    for (const inRequest of [false, true]) {
      const { client, seen } = await shop({ accepts: "access-2" });
      const form = new FormData();
      form.append("name", "чай");
      form.append("picture", new Blob([bytes], { type: "image/png" }), "tea.png");
      const init = { method: "POST", body: form };
      const url = `${client.baseUrl}/api/products`;
      const response = inRequest ? client.fetch(new Request(url, init)) : client.fetch("/api/products", init);
      expect((await response).status).toBe(200);
      expect(seen).toHaveLength(2);
      for (const { raw, headers } of seen) {
        const type = { headers: { "content-type": headers["content-type"] ?? "" } };
        const received = await new Response(new Uint8Array(raw), type).formData();
        expect(received.get("name")).toBe("чай");
        expect(new Uint8Array(await (received.get("picture") as File).arrayBuffer())).toEqual(bytes);
      }
    }
  });

  test("none, as a GET has it, in a Request too", async () => {
    for (const method of ["GET", "HEAD", "DELETE"]) {
      const { client, seen } = await shop({ accepts: "access-2" });
      const request = new Request(`${client.baseUrl}/api/products`, { method });
      expect((await client.fetch(request)).status).toBe(200);
      expect(seen.map((one) => [one.method, one.raw.length])).toEqual([
        [method, 0],
        [method, 0],
      ]);
    }
  });

  test("null", async () => {
    const { client, seen } = await shop({ accepts: "access-2" });
    expect((await client.fetch("/api/products", { method: "POST", body: null })).status).toBe(200);
    expect(seen).toHaveLength(2);
  });
});

describe("a stream cannot be sent again:", () => {
  const rows: Array<{ name: string; make: () => unknown }> = [
    { name: "a ReadableStream", make: () => new Blob(["te", "a"]).stream() },
    {
      name: "an async iterable",
      make: async function* () {
        yield Buffer.from("tea");
      },
    },
  ];
  for (const { name, make } of rows) {
    test(`after a 401, ${name} is not retried; the next call finds a good token`, async () => {
      const { client, renewals, seen } = await shop({ accepts: "access-2" });
      const init = { method: "POST", body: make(), duplex: "half" } as RequestInit;
      const response = await client.fetch("/api/products", init);
      expect([response.status, await response.text()]).toEqual([401, "no"]);
      expect(seen.map(({ body }) => body)).toEqual(["tea"]);
      expect((await client.fetch("/api/products")).status).toBe(200);
      expect(renewals()).toBe(1);
      expect(seen).toHaveLength(2);
    });
  }

  test("and is sent as it is where there is no 401", async () => {
    const { client, seen } = await shop();
    const init = { method: "POST", body: new Blob(["tea"]).stream(), duplex: "half" } as RequestInit;
    expect((await client.fetch("/api/products", init)).status).toBe(200);
    expect(seen[0]?.body).toBe("tea");
  });

  test("a Request that was read before is an error, not a call without its body", async () => {
    const { client, seen } = await shop();
    const request = new Request(`${client.baseUrl}/api/products`, { method: "POST", body: "tea" });
    await request.text();
    await expect(client.fetch(request)).rejects.toThrow(TypeError);
    expect(seen).toEqual([]);
  });
});

describe("an answer that comes before the body was read is returned at once:", () => {
  test("to a Request with a large body", async () => {
    const { client } = await shop({
      reads: false,
      api: (_, response) => response.writeHead(413).end("too large"),
    });
    const body = new Blob([new Uint8Array(30_000_000)]);
    const request = new Request(`${client.baseUrl}/api/products`, { method: "POST", body });
    const outcome = client.fetch(request).then(
      ({ status }) => status,
      ({ name }: Error) => name,
    );
    expect([413, "TypeError"]).toContain(await outcome); // the connection may break before the answer is seen
  }, 5_000);

  test("to a Request whose body is still being written", async () => {
    const { client } = await shop({
      reads: false,
      api: (_, response) => response.writeHead(202).end("early"),
    });
    let writer: ReadableStreamDefaultController<Uint8Array> | undefined;
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        writer = controller;
        controller.enqueue(Buffer.from("first"));
      },
    });
    const init = { method: "POST", body, duplex: "half" } as RequestInit;
    const response = await client.fetch(new Request(`${client.baseUrl}/api/products`, init));
    expect([response.status, await response.text()]).toEqual([202, "early"]);
    writer?.close();
  }, 5_000);
});

describe("an error of the fetch in use", () => {
  const bearer = "Bearer personal-canary";
  type Call = Parameters<typeof globalThis.fetch>;
  const leaks: Array<{ name: string; thrown: (...call: Call) => unknown }> = [
    { name: "its request's headers", thrown: (_, init) => Object.assign(new Error("failed"), { init }) },
    {
      name: "headers in a cause's cause",
      thrown: (_, init) => new Error("a", { cause: { cause: init?.headers } }),
    },
    {
      name: "a Request",
      thrown: (...call) => Object.assign(new Error("failed"), { request: new Request(...call) }),
    },
    {
      name: "an AggregateError",
      thrown: (_, init) => new AggregateError([new Error("a"), init?.headers], "failed"),
    },
    { name: "its message", thrown: () => new TypeError(`cannot send ${bearer}`) },
    {
      name: "plain headers",
      thrown: (_, init) => ({ headers: Object.fromEntries(new Headers(init?.headers)) }),
    },
    { name: "the headers themselves", thrown: (_, init) => init?.headers },
    { name: "a text", thrown: () => `no route for ${bearer}` },
    {
      name: "a Buffer",
      thrown: () => Object.assign(new Error("failed"), { sent: Buffer.from(`GET / ${bearer}`) }),
    },
    { name: "base64", thrown: () => new Error(Buffer.from(bearer).toString("base64")) },
  ];
  for (const { name, thrown } of leaks) {
    test(`does not show the bearer: ${name}`, async () => {
      const client = throwing((...call) => thrown(...call));
      const error = await client.fetch("/api/products").catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(Error);
      const shown = `${inspect(error, { depth: 20, showHidden: true })} ${(error as Error).stack}`;
      expect(shown).not.toMatch(/canary|Y2FuYXJ5|Y2FuYX/);
    });
  }

  test("that shows nothing is that very error", async () => {
    for (const error of [
      new TypeError("fetch failed", { cause: Object.assign(new Error("refused"), { code: "ECONNREFUSED" }) }),
      new DOMException("The operation timed out", "TimeoutError"),
      new RangeError("own"),
    ]) {
      await expect(throwing(() => error).fetch("/api/products")).rejects.toBe(error);
    }
  });

  test("that is the reason of the caller's own abort is that reason, whatever it holds", async () => {
    for (const reason of [new Error(bearer), { why: bearer }, bearer]) {
      const controller = new AbortController();
      const client = throwing((_, { signal } = {}) => {
        controller.abort(reason);
        return signal?.reason;
      });
      await expect(client.fetch("/api/products", { signal: controller.signal })).rejects.toBe(reason);
    }
  });

  test("of the retry is searched for the new bearer", async () => {
    const { pos } = await connected({ fetch: async () => Response.json({ access_token: "renewed-canary" }) });
    let calls = 0;
    const client = retailerClient({
      domainPrefix: parseDomainPrefix("shop"),
      baseUrl: "https://shop.retail.example",
      source: pos.tokens("shop"),
      renews: true,
      sharesOrigin: false,
      fetch: async (_, init) => {
        calls += 1;
        if (calls === 1) return new Response(null, { status: 401 });
        throw Object.assign(new Error("failed"), { init });
      },
    });
    const error = await client.fetch("/api/products").catch((reason: unknown) => reason);
    expect([calls, (error as Error).message]).toEqual([2, "failed"]);
    expect(inspect(error, { depth: 20, showHidden: true })).not.toContain("canary");
  });

  function throwing(thrown: (...call: Call) => unknown) {
    return personalToken({
      baseUrl: "https://{domain_prefix}.retail.example",
      domainPrefix: "shop",
      token: "personal-canary",
      fetch: async (...call) => {
        throw thrown(...call);
      },
    });
  }
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

interface Seen {
  method: string | undefined;
  url: string | undefined;
  headers: IncomingMessage["headers"];
  raw: Buffer;
  body: string;
}

type Listener = (request: IncomingMessage, response: ServerResponse) => unknown;

async function served(listener: Listener, { reads = true } = {}) {
  const seen: Seen[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    if (reads) for await (const chunk of request) chunks.push(chunk);
    const raw = Buffer.concat(chunks);
    const { method, url, headers } = request;
    if (!url?.endsWith("/api/1.0/token")) seen.push({ method, url, headers, raw, body: raw.toString() });
    listener(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { seen, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

/** A retailer on a real server: its API knows one access token, its token endpoint issues `access-2`, `access-3`, … */
async function shop({
  accepts = "access-1",
  refuses = false,
  reads = true,
  api,
  options = {},
}: {
  accepts?: string;
  refuses?: boolean;
  reads?: boolean;
  api?: Listener;
  options?: Partial<RetailPosOptions>;
} = {}) {
  let renewals = 0;
  const tokens: Listener = (_, response) => {
    renewals += 1;
    response
      .writeHead(refuses ? 400 : 200)
      .end(JSON.stringify(refuses ? { error: "invalid_grant" } : { access_token: `access-${renewals + 1}` }));
  };
  const regular: Listener = ({ headers }, response) => {
    const accepted = headers.authorization === `Bearer ${accepts}`;
    response.writeHead(accepted ? 200 : 401).end(accepted ? "ok" : "no");
  };
  const service = await served(
    (request, response) =>
      (request.url?.endsWith("/api/1.0/token") ? tokens : (api ?? regular))(request, response),
    { reads },
  );
  const { client, pos } = await connected({ baseUrl: `${service.url}/{domain_prefix}`, ...options });
  return { client, pos, seen: service.seen, renewals: () => renewals };
}

/** The same retailer, as if it had the server to itself. */
async function alone(options: Parameters<typeof shop>[0]) {
  const { pos, ...rest } = await shop(options);
  const { domainPrefix, baseUrl } = rest.client;
  const source = pos.tokens("shop");
  const fetch = globalThis.fetch;
  const client = retailerClient({ domainPrefix, baseUrl, source, fetch, renews: true, sharesOrigin: false });
  return { ...rest, client };
}

/** An API whose `/api/old` has moved. */
function toNew({ location = "new", status = 200 } = {}): Listener {
  return ({ url }, response) => {
    if (url?.includes("/old")) response.writeHead(302, { location }).end();
    else response.writeHead(status).end("new");
  };
}

async function connected(changes: Partial<RetailPosOptions> = {}) {
  const pos = retailPos({
    authUrl: "https://auth.example",
    baseUrl: "https://{domain_prefix}.retail.example",
    clientId: "client",
    clientSecret: "the secret",
    redirectUri: "https://app.example/callback",
    clock: () => T0,
    ...changes,
  });
  await pos.connect(tokenSet());
  return { pos, client: pos.retailer("shop") };
}

function tokenSet(changes: Partial<TokenSet> = {}): TokenSet {
  return {
    domainPrefix: parseDomainPrefix("shop"),
    access: { value: "access-1", expiresAt: T0 + DAY_MS },
    refreshToken: "refresh-1",
    issuedAt: T0,
    version: "1",
    ...changes,
  };
}

/** A fetch that sends nothing and writes down where it would have sent it. */
function recorder() {
  const calls: string[] = [];
  const fetch = async (input: string | URL | Request) => {
    calls.push(input instanceof Request ? input.url : String(input));
    return new Response("ok");
  };
  return { calls, fetch };
}

async function bytesOf(body: NonNullable<RequestInit["body"]>): Promise<Buffer> {
  return Buffer.from(await new Response(body).arrayBuffer());
}

/** Both times the same bytes and the content type that this kind of body has. */
async function sentTwice(seen: Seen[], body: NonNullable<RequestInit["body"]>): Promise<void> {
  const type = new Response(body).headers.get("content-type") ?? undefined;
  const raw = await bytesOf(body);
  expect(seen.map((one) => [one.headers["content-type"], one.raw.equals(raw)])).toEqual([
    [type, true],
    [type, true],
  ]);
}

type Parts = Parameters<typeof retailerClients>[0] & {
  domainPrefix: DomainPrefix;
  baseUrl: string;
  source: TokenSource;
};

function retailerClient({ domainPrefix, baseUrl, source, ...shared }: Parts): RetailerClient {
  return retailerClients(shared)(domainPrefix, baseUrl, source);
}
