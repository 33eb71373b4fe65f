import { describe, expect, test } from "vitest";
import { requestBearer } from "../bearer/request-bearer.js";
import { personalToken } from "../client/personal-token.js";
import { type RetailPos, retailPos } from "../retail-pos.js";
import { memoryStore } from "../store/memory-store.js";
import { parseDomainPrefix } from "./domain-prefix.js";
import { InvalidDomainPrefixError } from "./errors.js";
import type { TokenSet } from "./token-set.js";

const accepted = [
  { name: "letters", text: "shop", prefix: "shop" },
  { name: "one letter", text: "s", prefix: "s" },
  { name: "one digit", text: "7", prefix: "7" },
  { name: "digits only", text: "123", prefix: "123" },
  { name: "inner hyphens", text: "my--shop-2", prefix: "my--shop-2" },
  { name: "capitals, which are lower-cased", text: "MyShop", prefix: "myshop" },
  { name: "63 characters", text: "a".repeat(63), prefix: "a".repeat(63) },
  { name: "the name of an object's property", text: "constructor", prefix: "constructor" },
];

const hostile: Array<{ name: string; text: unknown }> = [
  { name: "empty", text: "" },
  { name: "a space", text: " " },
  { name: "another host behind a slash", text: "evil.example/" },
  { name: "a fragment", text: "evil#" },
  { name: "a query", text: "evil?" },
  { name: "a backslash", text: "evil.example\\" },
  { name: "user info", text: "a@evil" },
  { name: "a port", text: "evil:80" },
  { name: "two labels", text: "a.b" },
  { name: "a trailing dot", text: "shop." },
  { name: "a path that climbs", text: "../evil" },
  { name: "dots alone", text: ".." },
  { name: "a trailing tab", text: "shop\t" },
  { name: "a trailing newline", text: "shop\n" },
  { name: "an inner newline", text: "sh\nop" },
  { name: "a carriage return and a header", text: "shop\r\nhost: evil" },
  { name: "a null character", text: "shop\0" },
  { name: "a leading space", text: " shop" },
  { name: "a trailing space", text: "shop " },
  { name: "a no-break space", text: "shop\u00a0" },
  { name: "a zero-width space", text: "sh\u200bop" },
  { name: "a soft hyphen", text: "sh\u00adop" },
  { name: "full-width letters", text: "ｓｈｏｐ" },
  { name: "a full-width dot", text: "a．b" },
  { name: "an ideographic full stop", text: "a。b" },
  { name: "the Kelvin sign, whose lower case is k", text: "\u212aiosk" },
  { name: "the long s, whose upper case is S", text: "\u017fhop" },
  { name: "a Cyrillic letter", text: "sh\u043ep" },
  { name: "an encoded slash", text: "evil%2f" },
  { name: "an encoded letter", text: "%73hop" },
  { name: "an underscore", text: "my_shop" },
  { name: "a leading hyphen", text: "-shop" },
  { name: "a trailing hyphen", text: "shop-" },
  { name: "64 characters", text: "a".repeat(64) },
  { name: "a megabyte", text: "a".repeat(1_000_000) },
  { name: "the placeholder", text: "{domain_prefix}" },
  { name: "the prototype", text: "__proto__" },
  { name: "an array of one text", text: ["shop"] },
  { name: "an array of two texts", text: ["shop", "evil"] },
  { name: "an object", text: { domain_prefix: "shop" } },
  { name: "an object that says it is a text", text: { toString: () => "shop" } },
  { name: "a boxed text", text: Object("shop") },
  { name: "a number", text: 7 },
  { name: "a boolean", text: true },
  { name: "null", text: null },
  { name: "undefined", text: undefined },
  { name: "a symbol", text: Symbol("shop") },
];

describe("a domain prefix", () => {
  for (const { name, text, prefix } of accepted) {
    test(`is accepted: ${name}`, () => {
      expect(parseDomainPrefix(text)).toBe(prefix);
    });
  }

  for (const { name, text } of hostile) {
    test(`is refused: ${name}`, () => {
      expect(() => parseDomainPrefix(text)).toThrow(InvalidDomainPrefixError);
    });
  }

  test("that is refused is not repeated in the error", () => {
    const error = thrownBy(() => parseDomainPrefix("<script>evil")) as InvalidDomainPrefixError;
    expect(`${error.message} ${error.stack} ${JSON.stringify(error)}`).not.toContain("script");
    expect(error).toMatchObject({ code: "invalid_domain_prefix", status: 400, expose: true });
  });
});

describe("every door refuses a hostile prefix, and neither the network, the store nor the lock hears of it:", () => {
  const doors: Array<{ door: string; enter: (pos: RetailPos, prefix: string) => unknown }> = [
    { door: "retailer", enter: (pos, prefix) => pos.retailer(prefix) },
    { door: "tokens", enter: (pos, prefix) => pos.tokens(prefix) },
    { door: "exchange", enter: (pos, prefix) => pos.exchange(prefix, "code") },
    { door: "disconnect", enter: (pos, prefix) => pos.disconnect(prefix) },
    {
      door: "connect",
      enter: (pos, prefix) =>
        pos.connect({
          domainPrefix: prefix as TokenSet["domainPrefix"],
          access: { value: "access" },
          refreshToken: "refresh",
          issuedAt: 0,
          version: "1",
        }),
    },
  ];

  for (const { door, enter } of doors) {
    for (const { name, text } of hostile) {
      test(`${door}: ${name}`, async () => {
        const { pos, touched } = watched();
        expect(await failureOf(() => enter(pos, text as string))).toBeInstanceOf(InvalidDomainPrefixError);
        expect(touched).toEqual([]);
      });
    }
  }

  for (const { name, text } of hostile) {
    test(`personalToken: ${name}`, async () => {
      const make = () =>
        personalToken({
          baseUrl: "https://{domain_prefix}.retail.example",
          domainPrefix: text as string,
          token: "t",
        });
      expect(await failureOf(make)).toBeInstanceOf(InvalidDomainPrefixError);
    });
  }

  // No text at all means "no retailer" to a bearer (NotConnectedError, in request-bearer.test.ts).
  for (const { name, text } of hostile.filter(
    ({ text }) => text !== "" && text !== null && text !== undefined,
  )) {
    test(`requestBearer: ${name}`, async () => {
      const { pos, touched } = watched();
      for (const optional of [false, true]) {
        const now = requestBearer({ client: pos, retailer: () => text as string, optional });
        const later = requestBearer({ client: pos, retailer: async () => text as string, optional });
        expect(await failureOf(() => now({}, { headers: {} }))).toBeInstanceOf(InvalidDomainPrefixError);
        expect(await failureOf(() => later({}, { headers: {} }))).toBeInstanceOf(InvalidDomainPrefixError);
      }
      expect(touched).toEqual([]);
    });
  }
});

test("one retailer in two letter cases is one retailer", async () => {
  const { pos, touched } = watched();
  expect(pos.retailer("SHOP").domainPrefix).toBe("shop");
  expect(pos.retailer("SHOP").baseUrl).toBe("https://shop.retail.example");
  await pos.disconnect("ShOp");
  expect(touched).toEqual(["remove shop"]);
});

/** A client whose every way out is written down. */
function watched(): { pos: RetailPos; touched: string[] } {
  const touched: string[] = [];
  const store = memoryStore();
  const pos = retailPos({
    authUrl: "https://auth.example",
    baseUrl: "https://{domain_prefix}.retail.example",
    clientId: "client",
    clientSecret: "secret",
    redirectUri: "https://app.example/callback",
    fetch: async (input) => {
      touched.push(`fetch ${input}`);
      return new Response("{}");
    },
    lock: (key, work) => {
      touched.push(`lock ${key}`);
      return work();
    },
    store: {
      load: (prefix) => {
        touched.push(`load ${prefix}`);
        return store.load(prefix);
      },
      save: (next, replacing) => {
        touched.push(`save ${next.domainPrefix}`);
        return store.save(next, replacing);
      },
      remove: (prefix) => {
        touched.push(`remove ${prefix}`);
        return store.remove(prefix);
      },
    },
  });
  return { pos, touched };
}

async function failureOf(work: () => unknown): Promise<unknown> {
  try {
    await work();
  } catch (error) {
    return error;
  }
  throw new Error("it did not fail");
}

function thrownBy(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  throw new Error("it did not fail");
}
