import { inspect } from "node:util";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { parseDomainPrefix } from "./domain-prefix.js";
import { personalToken } from "./personal-token.js";
import { requestBearer } from "./request-bearer.js";
import { retailPos } from "./retail-pos.js";
import { redact, withoutSecrets } from "./secrets.js";
import { quiet, type TokenSet } from "./token-set.js";

const SECRET = "canary-4d7a";

describe("redact", () => {
  const rows = [
    { name: "every occurrence", text: `a ${SECRET} b ${SECRET}`, secret: SECRET },
    { name: "a part of a word", text: `x${SECRET}y`, secret: SECRET },
    { name: "signs that mean something in a pattern", text: "a canary.*$&+? b", secret: "canary.*$&+?" },
    { name: "form-encoded", text: "code=canary+%2F%3D%26&x=1", secret: "canary /=&" },
    { name: "in other scripts, form-encoded", text: "code=canary%C3%A9", secret: "canaryé" },
    { name: "URL-encoded, with %20 for a space", text: "?code=canary%20%2F", secret: "canary /" },
    { name: "inside JSON", text: JSON.stringify({ code: 'canary"\\' }), secret: 'canary"\\' },
  ];
  for (const { name, text, secret } of rows) {
    test(`takes a secret out of a text: ${name}`, () => {
      expect(redact(text, [secret])).not.toContain("canary");
      expect(redact(text, [secret])).toContain("[hidden]");
    });
  }

  test("leaves nothing of a secret that begins like another one", () => {
    expect(redact("for refresh-canary", ["refresh", "refresh-canary"])).not.toContain("canary");
    expect(redact("for refresh-canary", ["refresh-canary", "refresh"])).not.toContain("canary");
  });

  test("leaves other texts alone", () => {
    expect(redact("nothing here", [SECRET])).toBe("nothing here");
    expect(redact("nothing here", [])).toBe("nothing here");
    expect(redact("nothing here", [""])).toBe("nothing here");
  });
});

describe("where Node cannot be asked for a module of its own (22.0 to 22.2)", () => {
  const { getBuiltinModule } = process;
  beforeEach(() => {
    vi.resetModules();
    Object.assign(process, { getBuiltinModule: undefined });
  });
  afterEach(() => {
    Object.assign(process, { getBuiltinModule });
  });

  test("errors are looked at and cleaned as everywhere", async () => {
    const fresh = await import("./secrets.js");
    const harmless = new TypeError("fetch failed", { cause: new Error("ECONNRESET") });
    await vi.waitFor(() => expect(fresh.withoutSecrets(harmless, [SECRET])).toBe(harmless));
    const error = Object.assign(new TypeError(`failed for ${SECRET}`), { config: SECRET, code: "X" });
    const cleaned = fresh.withoutSecrets(error, [SECRET]);
    expect(inspect(cleaned, { showHidden: true, depth: 9 })).not.toContain(SECRET);
    expect(cleaned).toMatchObject({ name: "TypeError", message: "failed for [hidden]", code: "X" });
  });

  test("what fails before the printer is there is cleaned unseen", async () => {
    const { withoutSecrets } = await import("./secrets.js");
    const cleaned = withoutSecrets(Object.assign(new Error(SECRET), { config: SECRET }), [SECRET]);
    expect(inspect(cleaned, { showHidden: true, depth: 9 })).not.toContain(SECRET);
  });
});

describe("withoutSecrets", () => {
  test("returns the very error where it shows no secret", () => {
    const error = Object.assign(new TypeError("fetch failed", { cause: new Error("ECONNRESET") }), {
      code: "X",
    });
    expect(withoutSecrets(error, [SECRET])).toBe(error);
    expect(withoutSecrets("a text", [SECRET])).toBe("a text");
    expect(withoutSecrets(undefined, [SECRET])).toBeUndefined();
  });

  const rows: Array<{ name: string; error: unknown; secret?: string }> = [
    { name: "its message", error: new Error(`failed for ${SECRET}`) },
    { name: "its name", error: Object.assign(new Error("failed"), { name: SECRET }) },
    { name: "its code", error: Object.assign(new Error("failed"), { code: SECRET }) },
    { name: "its stack", error: Object.assign(new Error("failed"), { stack: `Error: ${SECRET}\n    at x` }) },
    { name: "a property", error: Object.assign(new Error("failed"), { token: SECRET }) },
    {
      name: "a property deep inside",
      error: Object.assign(new Error("failed"), { config: { body: { form: [SECRET] } } }),
    },
    {
      name: "a property deeper than anybody prints",
      error: Object.assign(new Error("failed"), { nested: nested(15) }),
    },
    {
      name: "a long array",
      error: Object.assign(new Error("failed"), { list: [...Array(1_000).fill("x"), SECRET] }),
    },
    {
      name: "the end of a long text",
      error: Object.assign(new Error("failed"), { body: "x".repeat(50_000) + SECRET }),
    },
    {
      name: "a property that is not enumerable",
      error: Object.defineProperty(new Error("failed"), "token", { value: SECRET }),
    },
    {
      name: "a property with a symbol",
      error: Object.assign(new Error("failed"), { [Symbol("token")]: SECRET }),
    },
    { name: "the name of a property", error: Object.assign(new Error("failed"), { [SECRET]: 1 }) },
    {
      name: "a Map",
      error: Object.assign(new Error("failed"), { headers: new Map([["authorization", SECRET]]) }),
    },
    {
      name: "Headers",
      error: Object.assign(new Error("failed"), { headers: new Headers({ authorization: SECRET }) }),
    },
    {
      name: "URLSearchParams",
      error: Object.assign(new Error("failed"), { body: new URLSearchParams({ code: SECRET }) }),
    },
    {
      name: "a URL",
      error: Object.assign(new Error("failed"), { url: new URL(`https://x.example/?a=${SECRET}`) }),
    },
    { name: "its cause", error: new Error("failed", { cause: new Error(SECRET) }) },
    { name: "its cause's cause", error: new Error("failed", { cause: { cause: { cause: SECRET } } }) },
    {
      name: "an AggregateError's errors",
      error: new AggregateError([new Error("a"), new Error(SECRET)], "failed"),
    },
    { name: "a text that was thrown", error: `failed for ${SECRET}` },
    { name: "an object that was thrown", error: { message: SECRET, name: SECRET, code: SECRET } },
    { name: "something circular", error: circular() },
    {
      name: "a quiet token set, which prints nothing but is plain data to JSON",
      error: Object.assign(new Error("failed"), { set: quiet(set()) }),
    },
    {
      name: "a property that prints nothing of itself",
      error: Object.assign(new Error("failed"), { token: shy() }),
    },
    {
      name: "a text with a quotation mark and a backslash",
      error: Object.assign(new Error("failed"), { token: `"'\`\\${SECRET}\n` }),
      secret: `"'\`\\${SECRET}\n`,
    },
    {
      name: "a form-encoded body",
      error: Object.assign(new Error("failed"), { body: "code=canary+%26+4d7a" }),
      secret: "canary & 4d7a",
    },
  ];
  for (const { name, error, secret = SECRET } of rows) {
    test(`keeps what happened and loses the secret in ${name}`, () => {
      const cleaned = withoutSecrets(error, [secret]);
      expect(shown(cleaned)).not.toContain("canary");
      expect(cleaned).toBeInstanceOf(Error);
    });
  }

  test("keeps the name, the code and the message of an error", () => {
    const error = Object.assign(new TypeError(`connect ${SECRET}`), { code: "ECONNRESET", token: SECRET });
    expect(withoutSecrets(error, [SECRET])).toMatchObject({
      name: "TypeError",
      code: "ECONNRESET",
      message: "connect [hidden]",
    });
  });

  test("survives an error that cannot be looked at", () => {
    const hostile = Object.assign(new Error("failed"), {
      [Symbol.for("nodejs.util.inspect.custom")]: () => {
        throw new Error("no");
      },
    });
    expect(withoutSecrets(hostile, [SECRET])).toBeInstanceOf(Error);
  });
});

describe("what the library returns shows no secret when it is printed:", () => {
  const secrets = { clientSecret: "canary-client-secret", token: "canary-personal" };

  test("retailPos(), its retailers and their tokens, before and after they are used", async () => {
    const pos = await connected(secrets.clientSecret);
    const source = pos.tokens("shop");
    const retailer = pos.retailer("shop");
    await retailer.fetch("/api/products");
    for (const value of [pos, source, retailer, await source.token(), retailer.tokenNow?.()]) {
      expect(shown(value, { json: false })).not.toContain("canary");
    }
    expect(JSON.stringify([pos, source, retailer])).not.toContain("canary");
  });

  test("what exchange() returns, except to JSON, which is what a store writes", async () => {
    const set = await (await connected(secrets.clientSecret)).exchange("shop", "canary-code");
    expect(shown(set, { json: false })).not.toContain("canary");
    expect(JSON.stringify(set)).toContain("canary-refresh");
    expect(JSON.stringify(set)).not.toMatch(/canary-(client|code)/);
  });

  test("personalToken()", async () => {
    const client = personalToken(personal(secrets.token));
    await client.fetch("/api/products");
    expect(shown(client)).not.toContain("canary");
  });

  test("the token of personalToken(), as every other access token", async () => {
    const client = personalToken(personal(secrets.token));
    for (const value of [await client.token(), client.tokenNow?.()]) {
      expect(shown(value, { json: false })).not.toContain("canary");
    }
  });

  test("a request's bearer, alone and on a request that is logged", async () => {
    const pos = await connected(secrets.clientSecret);
    const bearers = [
      await requestBearer({ client: pos, retailer: () => "shop" })({}, { headers: {} }),
      await requestBearer({ personalToken: personal(secrets.token) })({}, { headers: {} }),
    ];
    for (const bearer of bearers) {
      expect(bearer?.accessToken).toMatch(/^canary-/);
      for (const value of [bearer, { retailPos: bearer }, { ...bearer }]) {
        expect(inspect(value, { depth: 10 })).not.toContain("canary");
        expect(JSON.stringify(value)).not.toContain("canary");
      }
    }
  });

  test("a request's bearer, also to a log that prints what is not enumerable", async () => {
    const bearer = await requestBearer({ personalToken: personal(secrets.token) })({}, { headers: {} });
    expect(inspect(bearer, { depth: 10, showHidden: true })).not.toContain("canary");
  });
});

/** Everything somebody might print of a value. */
function shown(value: unknown, { json = true } = {}): string {
  const parts = [inspect(value, { depth: 10, showHidden: true }), inspect(value), String(value)];
  if (json) parts.push(JSON.stringify(value) ?? "");
  if (value instanceof Error) {
    parts.push(value.name, value.message, value.stack ?? "", shown(value.cause));
    for (const key of Object.getOwnPropertyNames(value)) parts.push(key, String(Reflect.get(value, key)));
  }
  return parts.join("\n");
}

async function connected(clientSecret: string) {
  const pos = retailPos({
    authUrl: "https://auth.example",
    baseUrl: "https://{domain_prefix}.retail.example",
    clientId: "client",
    clientSecret,
    redirectUri: "https://app.example/callback",
    fetch: async () => Response.json({ access_token: "canary-access", refresh_token: "canary-refresh" }),
  });
  await pos.connect(set());
  return pos;
}

function personal(token: string): Parameters<typeof personalToken>[0] {
  const fetch = async () => Response.json({});
  return { baseUrl: "https://{domain_prefix}.retail.example", domainPrefix: "shop", token, fetch };
}

function set(): TokenSet {
  return {
    domainPrefix: parseDomainPrefix("shop"),
    access: { value: SECRET },
    refreshToken: "canary-refresh",
    issuedAt: 0,
    version: "1",
  };
}

function nested(depth: number): unknown {
  return depth === 0 ? SECRET : { inner: nested(depth - 1) };
}

function circular(): Error {
  const error = Object.assign(new Error("failed"), { token: SECRET, self: undefined as unknown });
  error.self = error;
  return error;
}

/** Like a token set: hidden from the console, plain data to JSON. */
function shy(): object {
  const value = { token: SECRET };
  return Object.defineProperty(value, Symbol.for("nodejs.util.inspect.custom"), { value: () => "[hidden]" });
}
