import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anything, holds, spoilt, unlessRefused } from "../../../../test/support/fuzz.js";
import { type BearerOptions, requestBearer } from "../bearer/request-bearer.js";
import { personalToken } from "../client/personal-token.js";
import { retailPos } from "../retail-pos.js";
import { memoryLock } from "../store/locks.js";
import { memoryStore } from "../store/memory-store.js";
import type { RetailPosOptions } from "./options.js";

type Given = { [name in keyof RetailPosOptions]-?: Exclude<RetailPosOptions[name], undefined> };

const good: Given = {
  authUrl: "https://login.example.com",
  baseUrl: "https://{domain_prefix}.example.com",
  clientId: "the-application",
  clientSecret: "canary-client-secret",
  redirectUri: "https://app.example.net/callback",
  scope: "products:read",
  store: memoryStore(),
  lock: memoryLock(),
  renewEarlyMs: 300_000,
  cacheMs: 10_000,
  timeoutMs: 10_000,
  userAgent: "test-agent",
  fetch: async () => new Response(),
  clock: () => 0,
  observe: () => {},
  acceptRetailer: () => true,
  background: () => {},
};

const PLACEHOLDER = "{domain_prefix}";
const template = fc
  .array(
    fc.constantFrom(
      ...[
        "https://",
        "http://",
        "HTTPS://",
        "//",
        "/",
        ".",
        ":",
        "@",
        "?",
        "#",
        "\\",
        "..",
        "%2e%2e",
        PLACEHOLDER,
      ],
      ...[
        "example.com",
        "localhost",
        "127.0.0.1",
        "[::1]",
        "0.0.1",
        "é",
        "retailer",
        ":8443",
        ":99999",
        " ",
        "\t",
        "ａ",
      ],
      ...["xn--", "%7Bdomain_prefix%7D", "{DOMAIN_PREFIX}", "a"],
    ),
    { maxLength: 7 },
  )
  .map((parts) => parts.join(""));
const address = fc.oneof(
  { weight: 3, arbitrary: template },
  { weight: 3, arbitrary: template.map((rest) => `https://${PLACEHOLDER}.${rest}`) },
  { weight: 3, arbitrary: template.map((rest) => `https://example.com/${rest}`) },
  { weight: 1, arbitrary: fc.webUrl().map((url) => (URL.canParse(url) ? new URL(url) : url)) },
);

describe("retailPos", () => {
  test("works with whatever options it takes, and else names one of them in a TypeError", async () => {
    await holds(
      fc.property(spoilt(good, Object.keys(good), address), (options) => {
        const pos = unlessRefused(() => retailPos(options), ["options", ...Object.keys(good)]);
        if (!pos) return;
        const consent = unlessRefused(
          () => pos.authorizationUrl("state-of-a-login"),
          ["authUrl", "redirectUri"],
        );
        expect(consent === undefined).toBe(
          options.authUrl === undefined || options.redirectUri === undefined,
        );
        if (!consent) return;
        expectSafe(consent);
        expectSafe(new URL(options.redirectUri));
        expect(consent.searchParams.get("redirect_uri")).toBe(wellFormed(options.redirectUri));
        expect(consent.searchParams.get("scope") ?? undefined).toBe(
          options.scope && wellFormed(options.scope),
        );
        expect(consent.searchParams.get("client_id")).toBe(wellFormed(options.clientId));
        const [one, other] = ["shop-a", "shop-b"].map((name) => new URL(pos.retailer(name).baseUrl));
        for (const url of [one, other]) expectSafe(url as URL);
        expect(one?.href.replace("shop-a", "shop-b")).toBe(other?.href);
        expect(`${one?.hostname.split(".")[0]} ${one?.pathname}`).toMatch(/(^shop-a | .*\/shop-a(\/|$))/);
      }),
      6_000,
    );
  });

  test("takes nothing but an object", async () => {
    const none = anything().filter(
      (value) => typeof value !== "object" || value === null || Array.isArray(value),
    );
    await holds(
      fc.property(none, (options) => {
        const names = ["options", ...Object.keys(good)];
        expect(unlessRefused(() => retailPos(options as RetailPosOptions), names)).toBeUndefined();
      }),
      1_000,
    );
  });

  test("never repeats what it refuses", async () => {
    const canary = "canary-that-was-given";
    const wrapped = fc.constantFrom<unknown>(
      canary,
      `https://${canary}:${canary}@x y`,
      [canary],
      { canary },
      `\n${canary}`,
    );
    await holds(
      fc.property(spoilt(good, Object.keys(good), wrapped), (options) => {
        try {
          retailPos(options);
        } catch (error) {
          expect(String((error as Error).stack)).not.toContain(canary);
        }
      }),
      1_000,
    );
  });
});

describe("personalToken", () => {
  const options = { baseUrl: good.baseUrl, domainPrefix: "shop", token: "personal", fetch: good.fetch };

  test("works with whatever options it takes, and else names one of them", async () => {
    const values = fc.oneof(
      address,
      fc.constantFrom<unknown>("shop", "SHOP", "a.b", "https://shop.example.com/pos/"),
    );
    // What has no text at all is left to TypeScript.
    const printable = spoilt(options, Object.keys(options), values).filter(({ baseUrl }) =>
      isPrintable(baseUrl),
    );
    await holds(
      fc.asyncProperty(printable, async (given) => {
        const sent: [string, string | null][] = [];
        const fetch: typeof globalThis.fetch = async (target, init) => {
          sent.push([String(target), new Headers(init?.headers).get("authorization")]);
          return new Response();
        };
        const isOwn = given.fetch === good.fetch;
        const named = isOwn ? { ...given, fetch } : given;
        const client = unlessRefused(() => personalToken(named), [...Object.keys(options)]);
        if (!client) return;
        expectSafe(new URL(client.baseUrl));
        if (!isOwn) return;
        await client.fetch("api/products");
        expect(sent).toEqual([[new URL(`${client.baseUrl}/api/products`).href, `Bearer ${given.token}`]]);
      }),
      3_000,
    );
  });
});

describe("requestBearer", () => {
  const client = retailPos(good);
  const oauth = { client, retailer: () => "shop", optional: true, header: true, personalToken: undefined };
  const personal = { baseUrl: good.baseUrl, domainPrefix: "shop", token: "personal" };

  test("works with whatever options it takes, and else names one of them in a TypeError", async () => {
    const names = ["client", "retailer", "personalToken", "baseUrl", "token", "fetch", "domainPrefix"];
    const values = fc.constantFrom<unknown>(
      client,
      {},
      { retailer: "no function" },
      personal,
      () => "other",
      undefined,
    );
    await holds(
      fc.asyncProperty(spoilt(oauth, Object.keys(oauth), values), async (options) => {
        if (options.personalToken !== undefined && !isPrintable(Object(options.personalToken).baseUrl))
          return;
        const bearerOf = unlessRefused(
          () => requestBearer(options as unknown as BearerOptions<object>),
          names,
        );
        const found = await Promise.resolve()
          .then(() => bearerOf?.({}, { headers: {} }))
          .catch((error: unknown) => error);
        if (found instanceof Error) expect(found).toMatchObject({ code: "not_connected" });
      }),
      2_000,
    );
  });
});

/** https, or this machine; and nothing that could come from the option in the wrong place. */
function expectSafe({ protocol, hostname, username, password, hash }: URL): void {
  const isHere = /^(localhost|.+\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
  expect(protocol === "https:" || (protocol === "http:" && isHere)).toBe(true);
  expect([username, password, hash]).toEqual(["", "", ""]);
}

/** Half a surrogate pair cannot be sent. */
function wellFormed(text: string): string | null {
  return new URLSearchParams(new URLSearchParams({ text }).toString()).get("text");
}

function isPrintable(value: unknown): boolean {
  try {
    return typeof String(value) === "string";
  } catch {
    return false;
  }
}
