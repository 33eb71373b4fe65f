import { describe, expect, test } from "vitest";
import { connected, recorder, retailerClient } from "../../../testing/retailer-client.js";
import { parseDomainPrefix } from "../../vocabulary/domain-prefix.js";
import { personalToken } from "../personal-token.js";

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
