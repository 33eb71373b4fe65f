import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { requestBearer } from "../bearer/request-bearer.js";
import { personalToken } from "../client/personal-token.js";
import { retailPos } from "../retail-pos.js";
import { parseDomainPrefix } from "../vocabulary/domain-prefix.js";
import { redacted, type TokenSet } from "../vocabulary/token-set.js";
import { inPlainWords, messageOf, rootCause, withoutSecrets } from "./errors-without-secrets.js";

const SECRET = "canary-4d7a";

describe("rootCause", () => {
  const said = (error: unknown) => {
    const { code, words } = rootCause(error, [SECRET, "CANARY"]);
    return [code, words].filter(Boolean).join(": ");
  };
  const coded = (code: unknown, cause?: unknown) => Object.assign(new Error("failed", { cause }), { code });

  test.each([
    ["the error's own", coded("closed"), "closed"],
    [
      "its cause's, with its words",
      new TypeError("fetch failed", { cause: coded("ENOTFOUND") }),
      "ENOTFOUND: failed",
    ],
    [
      "the words of an agent of another undici version",
      new TypeError("fetch failed", {
        cause: Object.assign(new Error("invalid onRequestStart method"), { code: "UND_ERR_INVALID_ARG" }),
      }),
      "UND_ERR_INVALID_ARG: invalid onRequestStart method",
    ],
    [
      "those of the first of several addresses",
      new TypeError("fetch failed", {
        cause: new AggregateError([
          Object.assign(new Error("connect ECONNREFUSED 127.0.0.1:1"), { code: "ECONNREFUSED" }),
        ]),
      }),
      "ECONNREFUSED: connect ECONNREFUSED",
    ],
    [
      "no host, which might be anything",
      new TypeError("fetch failed", {
        cause: Object.assign(new Error("getaddrinfo ENOTFOUND shop.example"), { code: "ENOTFOUND" }),
      }),
      "ENOTFOUND: getaddrinfo ENOTFOUND",
    ],
    ["the one furthest down", coded("UND_ERR_SOCKET", coded("ECONNRESET", new Error("a"))), "ECONNRESET: a"],
    [
      "one of many words",
      new TypeError("fetch failed", { cause: coded("UNABLE_TO_GET_ISSUER_CERT_LOCALLY") }),
      "UNABLE_TO_GET_ISSUER_CERT_LOCALLY: failed",
    ],
    [
      "one of OpenSSL's alerts",
      coded("ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE"),
      "ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE",
    ],
    ["one above a cause that has none that is plain", coded("ETIMEDOUT", coded("a b")), "ETIMEDOUT: failed"],
  ])("finds %s", (_, error, code) => {
    expect(said(error)).toBe(code);
  });

  test.each([
    ["no error", undefined],
    ["null", null],
    ["a number", coded(20)],
    ["a sentence", coded("it failed")],
    ["what may be a token", coded("a1b2C3d4")],
    ["a long text", coded("A".repeat(200))],
    ["a secret", coded("CANARY")],
    ["a getter that throws", Object.defineProperty({}, "code", { get: () => JSON.parse("{") })],
  ])("says nothing of %s", (_, error) => {
    expect(said(error)).toBe("");
  });

  test("ends with causes in a circle", () => {
    const error = coded("ECONNRESET");
    error.cause = error;
    expect(said(error)).toBe("ECONNRESET: failed");
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

  test.each([
    ["of the platform, for a signal", new DOMException("timed out", "TimeoutError")],
    [
      "with an object of plain data",
      Object.assign(new Error("closed"), { socket: { bytesRead: 41, host: null } }),
    ],
    ["for several addresses", new AggregateError([new Error("refused"), new Error("no route")])],
    ["in a circle", circular("harmless")],
    [
      "of a class with methods",
      new (class extends Error {
        getStatus() {
          return 404;
        }
      })(),
    ],
  ])("returns the very error %s", (_, error) => {
    expect(withoutSecrets(error, [SECRET])).toBe(error);
  });

  test.each([
    ["a method of its own", Object.assign(new Error("failed"), { dump: () => "" })],
    [
      "a class that JSON asks",
      new (class extends Error {
        toJSON() {
          return {};
        }
      })(),
    ],
    ["an object of a class with methods", Object.assign(new Error("failed"), { response: new Response() })],
  ])("replaces an error with %s: who knows what it shows", (_, error) => {
    const cleaned = withoutSecrets(error, [SECRET]);
    expect(cleaned).not.toBe(error);
    expect(cleaned).toMatchObject({ message: messageOf(error) });
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
      error: Object.assign(new Error("failed"), { set: redacted(set()) }),
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
    ...[
      ["a Buffer", Buffer.from(`code=${SECRET}`)],
      ["a part of a larger Buffer", Buffer.from(`code=${SECRET}&x`).subarray(3, 20)],
      ["a Uint8Array", new TextEncoder().encode(`code=${SECRET}`)],
      ["a Uint16Array", new Uint16Array(new TextEncoder().encode(`a=${SECRET}.`).buffer)],
      ["a DataView", new DataView(new TextEncoder().encode(`code=${SECRET}`).buffer)],
      ["a Set", new Set([SECRET])],
      ["a Map's key", new Map([[{ deep: SECRET }, 1]])],
      ["FormData", formData()],
      ["a Request's headers", new Request("https://x.example", { headers: { authorization: SECRET } })],
      ["a Request's address", new Request(`https://x.example/?code=${SECRET}`)],
      ["a Request's body", new Request("https://x.example", { method: "POST", body: `code=${SECRET}` })],
      ["a Response's headers", new Response(null, { headers: { location: `/?code=${SECRET}` } })],
    ].map(([name, body]) => ({
      name: `${name}`,
      error: Object.assign(new Error("failed"), { cause: { options: { body } } }),
    })),
    {
      name: "what its toJSON gives",
      error: Object.assign(new Error("failed"), { toJSON: () => ({ sent: SECRET }) }),
    },
    {
      name: "what the console prints of it",
      error: Object.assign(new Error("failed"), { options: { [inspect.custom]: () => SECRET } }),
    },
    {
      name: "what a request in it gives JSON, though the error is circular",
      error: Object.assign(new Error("failed"), { request: { toJSON: () => SECRET }, ...aCircle() }),
    },
    {
      name: "what its toString gives",
      error: Object.assign(new Error("failed"), { toString: () => SECRET }),
    },
    { name: "a promise", error: Object.assign(new Error("failed"), { token: Promise.resolve(SECRET) }) },
    { name: "what a getter of the error's class gives", error: new WithGetter("failed") },
    {
      name: "a form-encoded body",
      error: Object.assign(new Error("failed"), { body: "code=canary+%26+4d7a" }),
      secret: "canary & 4d7a",
    },
  ];
  for (const { name, error, secret = SECRET } of rows) {
    test(`keeps what happened and loses the secret in ${name}`, () => {
      const cleaned = withoutSecrets(error, [secret]);
      expect(cleaned).not.toBe(error);
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

  test("keeps where it was thrown", () => {
    const { stack } = withoutSecrets(new TypeError(`connect ${SECRET}`), [SECRET]) as Error;
    expect(stack).toMatch(/^TypeError: connect \[hidden\]\n +at .*secrets\.test\.ts:\d+:\d+/);
  });

  test("survives an error that is larger than anybody would look at", () => {
    const list = Array.from({ length: 200_000 }, () => ({}));
    const error = Object.assign(new Error("failed"), { list });
    expect(withoutSecrets(error, [SECRET])).toMatchObject({ message: "failed" });
    expect(withoutSecrets(error, [SECRET])).not.toHaveProperty("list");
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

describe("inPlainWords", () => {
  const rows: Array<{ name: string; message: string; words: string }> = [
    {
      name: "a refused connection",
      message: "connect ECONNREFUSED 127.0.0.1:5432",
      words: "connect ECONNREFUSED [hidden]",
    },
    {
      name: "words with signs around them",
      message: 'relation "tokens" (of them) does not exist: sorry.',
      words: 'relation "tokens" (of them) does not exist: sorry.',
    },
    { name: "a word of 14 letters", message: "authentication failed", words: "authentication failed" },
    { name: "a word of 15 letters", message: "uncopyrightable text", words: "[hidden] text" },
    { name: "digits, signs and joined words", message: "a canary-1 can_ary c4nary b", words: "a [hidden] b" },
    { name: "JSON", message: 'Unexpected end of {"value":"canary"}', words: "Unexpected end of [hidden]" },
    { name: "nothing: then the name", message: "", words: "Error" },
  ];
  for (const { name, message, words } of rows) {
    test(`keeps the words of a message that nobody knows the secrets of: ${name}`, () => {
      expect(inPlainWords(new Error(message)).message).toBe(words);
    });
  }

  test("keeps the name, the code and the frames", () => {
    const error = Object.assign(new TypeError(`connect ${SECRET}\n    at ${SECRET}`), {
      code: "ECONNREFUSED",
    });
    const cleaned = inPlainWords(error);
    expect(cleaned).toMatchObject({
      name: "TypeError",
      code: "ECONNREFUSED",
      message: "connect [hidden] at [hidden]",
    });
    expect(cleaned.stack).toMatch(
      /^TypeError: connect \[hidden\] at \[hidden\]\n +at .*secrets\.test\.ts:\d+:\d+/,
    );
    expect(shown(cleaned)).not.toContain("canary");
    for (const code of ["28P01", "SQLITE_BUSY", 5])
      expect(inPlainWords(Object.assign(new Error("failed"), { code }))).toMatchObject({ code });
  });

  const hostile: unknown[] = [
    Object.assign(new Error("failed"), {
      code: SECRET,
      name: SECRET,
      token: SECRET,
      cause: new Error(SECRET),
    }),
    Object.assign(new Error("failed"), { stack: `Error: other\n    at ${SECRET} (a.js:1:1)` }),
    new AggregateError([new Error(SECRET)], SECRET),
    SECRET,
    { message: SECRET, name: SECRET },
    [SECRET],
    Buffer.from(SECRET),
    undefined,
    null,
    () => SECRET,
    Symbol(SECRET),
    {
      get message() {
        throw new Error(SECRET);
      },
    },
  ];
  for (const [index, error] of hostile.entries()) {
    test(`shows nothing of what was thrown instead: ${index}`, () => {
      expect(shown(inPlainWords(error))).not.toContain("canary");
      expect(inPlainWords(error)).toBeInstanceOf(Error);
    });
  }
});

describe("what the library returns shows no secret when it is printed:", () => {
  const secrets = { clientSecret: "canary-client-secret", token: "canary-personal" };

  test("retailPos(), its retailers and their tokens, before and after they are used", async () => {
    const pos = await connected(secrets.clientSecret);
    const source = pos.tokens("shop");
    const retailer = pos.retailer("shop");
    await retailer.fetch("/api/products");
    for (const value of [pos, source, retailer, await source.token()]) {
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
    expect(shown(await client.token(), { json: false })).not.toContain("canary");
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

class WithGetter extends Error {
  readonly #secret = SECRET;
  get request() {
    return { headers: { authorization: this.#secret } };
  }
}

function aCircle(): object {
  const agent: { self?: object } = {};
  agent.self = agent;
  return { agent };
}

function formData(): FormData {
  const form = new FormData();
  form.append("code", SECRET);
  return form;
}

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

function circular(token: string = SECRET): Error {
  const error = Object.assign(new Error("failed"), { token, self: undefined as unknown });
  error.self = error;
  return error;
}

/** Like a token set: hidden from the console, plain data to JSON. */
function shy(): object {
  const value = { token: SECRET };
  return Object.defineProperty(value, Symbol.for("nodejs.util.inspect.custom"), { value: () => "[hidden]" });
}
