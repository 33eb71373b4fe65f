import type { AddressInfo } from "node:net";
import { createServer, type Server, type Socket } from "node:net";
import { inspect } from "node:util";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { answered, holds } from "../../../../../test/support/fuzz.js";
import { type RetailPos, retailPos } from "../../retail-pos.js";
import { memoryStore } from "../../store/memory-store.js";
import { parseDomainPrefix } from "../../vocabulary/domain-prefix.js";
import { isRetailPosError } from "../../vocabulary/errors.js";
import { type AccessToken, type TokenSet, validate } from "../../vocabulary/token-set.js";
import type { TokenStore } from "../../vocabulary/token-store.js";

const T0 = Date.UTC(2030, 0, 1);
const shop = parseDomainPrefix("shop");
const LONGEST_BODY = 1024 * 1024;
const CLIENT_SECRET = "canary-client-secret /+&=%é";
const CODE = "canary-code /+&=%é";
const STORED = "canary-stored-refresh /+&=%é";
const ACCESS = "canary-new-access";
const ROTATED = "canary-rotated-refresh";
/** What a request carries, no error about it may show. What a service makes up by itself, nobody can know. */
const inRenewal = [CLIENT_SECRET, STORED];
const inLogin = [CLIENT_SECRET, CODE];

// The bytes of a body

const good = {
  access_token: ACCESS,
  token_type: "Bearer",
  expires: T0 / 1000 + 86_400,
  expires_in: 86_400,
  refresh_token: ROTATED,
  domain_prefix: "shop",
  scope: "",
};
const NAMES = [...Object.keys(good), "error", "error_description", "__proto__", "constructor", "toString"];

const odd = fc.oneof(
  fc.jsonValue(),
  fc.constantFrom<unknown>(
    null,
    "",
    " ",
    0,
    -1,
    1e300,
    -1e300,
    true,
    [],
    {},
    [ROTATED],
    { length: 5 },
    "1e5",
  ),
  fc.constantFrom<unknown>(
    ACCESS,
    ROTATED,
    STORED,
    "SHOP",
    "other",
    "shop.",
    "a b",
    "a\r\nb: c",
    "é",
    "\ud800",
    "0",
  ),
  fc.constantFrom<unknown>(
    "bearer",
    "MAC",
    "invalid_grant",
    "invalid_client",
    "server_error",
    CLIENT_SECRET,
    CODE,
  ),
  fc.double().map(String),
  fc.integer().map(String),
);
const field = fc.tuple(fc.oneof(fc.constantFrom(...NAMES), fc.string()), odd);
/** Written by hand, because an object has each name once, and its own ideas about `__proto__`. */
const jsonText = fc
  .tuple(fc.subarray(Object.entries(good)), fc.array(field, { maxLength: 5 }), fc.infiniteStream(fc.nat()))
  .map(([kept, added, order]) => {
    const fields = [...kept, ...added].map(
      ([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`,
    );
    for (const text of added.keys())
      fields.splice(order.next().value % fields.length, 0, ...fields.splice(-1 - text, 1));
    return `{${fields.join(",")}}`;
  });
/** RFC 6749, 5.2, in the words of a service that repeats what it was sent. */
const refusal = fc
  .record({
    error: fc.oneof(
      odd,
      fc.constantFrom("invalid_request", "invalid_grant", "invalid_client", "server_error"),
    ),
    error_description: fc
      .tuple(fc.string(), fc.constantFrom(STORED, CODE, CLIENT_SECRET), fc.boolean(), fc.string())
      .map(
        ([before, secret, isEncoded, after]) =>
          before + (isEncoded ? encodeURIComponent(secret) : secret) + after,
      ),
  })
  .map((fields) => JSON.stringify(fields));
const nested = fc
  .tuple(
    fc.constantFrom("[", '{"a":', '{"refresh_token":'),
    fc.constantFrom(10, 1_000, 100_000),
    fc.boolean(),
  )
  .map(([open, depth, isWhole]) => {
    const close = open === "[" ? "]" : "}";
    return `{"x":${open.repeat(depth)}1${isWhole ? close.repeat(depth) : ""},${JSON.stringify(good).slice(1)}`;
  });
const huge = fc
  .tuple(fc.integer({ min: -2_000, max: 2_000 }), fc.boolean())
  .map(([offBy, isSpace]) =>
    isSpace
      ? `${JSON.stringify(good)}${" ".repeat(LONGEST_BODY - 300 + offBy)}`
      : JSON.stringify({ ...good, filler: "x".repeat(LONGEST_BODY - 300 + offBy) }),
  );
const text = fc.oneof(
  { weight: 10, arbitrary: jsonText },
  { weight: 3, arbitrary: refusal },
  { weight: 2, arbitrary: fc.json() },
  { weight: 1, arbitrary: fc.string({ unit: "binary" }) },
  { weight: 1, arbitrary: nested },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      "",
      "{}",
      "null",
      "[]",
      '"shop"',
      "<!doctype html><p>Welcome",
      "access_token=a",
    ),
  },
);

interface Cut {
  readonly at: number;
  readonly kind: "flip" | "insert" | "delete" | "copy" | "end";
  readonly byte: number;
}
const cuts = fc.array(
  fc.record<Cut>({
    at: fc.nat(),
    kind: fc.constantFrom("flip", "insert", "delete", "copy", "end"),
    byte: fc.oneof(
      fc.integer({ min: 0, max: 255 }),
      fc.constantFrom(0, 0x22, 0x2c, 0x5c, 0x7b, 0x7d, 0xef, 0xff),
    ),
  }),
  { maxLength: 4 },
);
const bytes: fc.Arbitrary<Uint8Array> = fc.oneof(
  { weight: 6, arbitrary: text.map((body) => Buffer.from(body)) },
  { weight: 6, arbitrary: fc.tuple(text, cuts).map(([body, all]) => all.reduce(cut, Buffer.from(body))) },
  { weight: 1, arbitrary: text.map((body) => Buffer.from(`\uFEFF${body}`)) },
  { weight: 1, arbitrary: text.map((body) => Buffer.from(body, "utf16le")) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 300 }) },
);
const chunking = fc.array(fc.nat({ max: 400 }), { maxLength: 8 });

const status = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(200, 201, 299) },
  {
    weight: 4,
    arbitrary: fc.constantFrom(204, 301, 302, 307, 400, 401, 403, 404, 418, 429, 500, 502, 503, 599),
  },
  { weight: 1, arbitrary: fc.integer({ min: 200, max: 599 }) },
);
const headers = fc.dictionary(
  fc.constantFrom(
    "x-ratelimit-limit",
    "X-RateLimit-Remaining",
    "x-ratelimit-reset",
    "content-type",
    "location",
  ),
  fc.oneof(
    fc.integer().map(String),
    fc.constantFrom("text/html", "application/json;charset=utf-16", "//evil", "0"),
  ),
);

describe("whatever bytes answer a renewal", () => {
  test("it ends in a token or a typed error without secrets, and a rotated refresh token is kept", async () => {
    await holds(
      fc.asyncProperty(status, headers, bytes, chunking, async (code, named, body, sizes) => {
        const { pos, store } = await connected(() => inChunks(body, sizes, code, named));
        const outcome = await outcomeOf(pos.tokens("shop").token());
        expectTokenOrTypedError(outcome);
        expect((await store.load(shop))?.refreshToken).toBe(refreshTokenAfter(code, body));
      }),
      1_500,
    );
  });

  test("of about a mebibyte", async () => {
    await holds(
      fc.asyncProperty(huge, chunking, async (body, sizes) => {
        const { pos, store } = await connected(() => inChunks(Buffer.from(body), sizes, 200, {}));
        expectTokenOrTypedError(await outcomeOf(pos.tokens("shop").token()));
        expect((await store.load(shop))?.refreshToken).toBe(refreshTokenAfter(200, Buffer.from(body)));
      }),
      40,
    );
  });

  test("a body that breaks off is a typed error, and the stored refresh token stays", async () => {
    await holds(
      fc.asyncProperty(bytes, chunking, async (body, sizes) => {
        const { pos, store } = await connected(() =>
          inChunks(body, sizes, 200, {}, new Error(`lost ${STORED}`)),
        );
        const outcome = await outcomeOf(pos.tokens("shop").token());
        expect(isRetailPosError(outcome)).toBe(true);
        expectTokenOrTypedError(outcome);
        expect((await store.load(shop))?.refreshToken).toBe(STORED);
      }),
      500,
    );
  });
});

describe("whatever bytes answer a login", () => {
  test("it ends in a whole token set of that retailer or a typed error without secrets", async () => {
    await holds(
      fc.asyncProperty(status, headers, bytes, chunking, async (code, named, body, sizes) => {
        const { pos } = await connected(() => inChunks(body, sizes, code, named));
        const outcome = await outcomeOf(pos.exchange("shop", CODE));
        if (outcome instanceof Error) return expectTypedError(outcome, inLogin);
        const set = outcome as TokenSet;
        expect(code >= 200 && code < 300).toBe(true);
        expect(validate(set, shop)).toBeUndefined();
        expectUsable(set.access);
        expect(set.refreshToken).toBe(fieldsOf(body)?.["refresh_token"]);
        expect(inspect(set, { depth: 9 })).not.toContain(
          set.refreshToken.length > 8 ? set.refreshToken : "canary",
        );
        await pos.connect(set);
        expect(await pos.tokens("shop").token()).toEqual(set.access);
      }),
      1_000,
    );
  });
});

describe("whatever a fetch answers or throws", () => {
  test("it ends in a typed error without secrets", async () => {
    // Made of what the request carried, as an HTTP library would that puts it on its errors.
    type Thrown = (secret: string) => unknown;
    const thrown = fc.oneof<fc.Arbitrary<Thrown>[]>(
      fc.anything().map((value) => () => value),
      fc.string().map((before) => (secret) => new Error(`${before}${secret}`)),
      fc
        .string()
        .map((name) => (secret) => Object.assign(new TypeError("fetch failed"), { [name]: [{ secret }] })),
      fc.constant((secret) => new Error("outer", { cause: new Error(encodeURIComponent(secret)) })),
      fc.constant((secret) => new AggregateError([new Error(secret)], "all of them")),
      fc.constant((secret) =>
        Object.defineProperty(new Error("hidden"), "form", { value: new Map([[secret, 1]]) }),
      ),
      fc.constant((secret) => Object.assign(new Error("bytes"), { [Symbol("body")]: { [secret]: secret } })),
    );
    const which = fc.nat({ max: 1 });
    await holds(
      fc.asyncProperty(thrown, which, fc.boolean(), async (make, nth, isThrown) => {
        for (const secrets of [inRenewal, inLogin]) {
          const { pos, store } = await connected(async () => {
            const value = make(secrets[nth] as string);
            if (isThrown) throw value;
            return value as Response;
          });
          const work = secrets === inLogin ? pos.exchange("shop", CODE) : pos.tokens("shop").token();
          expectTypedError(await outcomeOf(work), secrets);
          expect((await store.load(shop))?.refreshToken).toBe(STORED);
        }
      }),
      500,
    );
  });
});

describe("whatever bytes come over a connection", () => {
  let server: Server;
  let answer: (socket: Socket) => void = () => {};
  beforeAll(async () => {
    server = createServer((socket) => {
      socket.on("error", () => {});
      socket.once("data", () => answer(socket));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  });
  afterAll(() => new Promise<void>((resolve) => void server.close(() => resolve())));

  test("it ends in a token or a typed error without secrets", async () => {
    const line = fc.oneof(
      status.map((code) => `HTTP/1.1 ${code} Word`),
      fc.constantFrom(
        "HTTP/1.1 100 Continue",
        "HTTP/1.1 101 Upgrade",
        "HTTP/1.0 200 OK",
        "HTTP/2 200",
        "ICY 200 OK",
        "",
      ),
    );
    const head = fc.array(
      fc.oneof(
        fc.constantFrom(
          "Transfer-Encoding: chunked",
          "Content-Encoding: gzip",
          "Content-Encoding: br",
          "Connection: close",
        ),
        fc.constantFrom(
          "Location: http://127.0.0.1:9/",
          "Content-Length: 10",
          "Content-Length: 10",
          "Content-Length: x",
        ),
        fc.string({ unit: "binary", maxLength: 30 }),
      ),
      { maxLength: 3 },
    );
    await holds(
      fc.asyncProperty(line, head, bytes, fc.boolean(), async (first, lines, body, isReset) => {
        answer = (socket) => {
          socket.write(Buffer.concat([Buffer.from(`${[first, ...lines].join("\r\n")}\r\n\r\n`), body]));
          if (isReset) socket.resetAndDestroy();
          else socket.end();
        };
        const { port } = server.address() as AddressInfo;
        const { pos, store } = await connected(undefined, `http://127.0.0.1:${port}/{domain_prefix}`);
        expectTokenOrTypedError(await outcomeOf(pos.tokens("shop").token()));
        const kept = (await store.load(shop))?.refreshToken;
        expect([STORED, fieldsOf(body)?.["refresh_token"]].includes(kept) || lines.length > 0).toBe(true);
      }),
      200,
    );
  });
});

/** A client whose only retailer has a token that has just expired. */
async function connected(
  fetch: typeof globalThis.fetch | (() => Promise<Response>) | undefined,
  baseUrl = "https://{domain_prefix}.example.com",
): Promise<{ pos: RetailPos; store: TokenStore }> {
  const store = memoryStore();
  const pos = retailPos({
    authUrl: "https://login.example.com",
    baseUrl,
    clientId: "the client",
    clientSecret: CLIENT_SECRET,
    redirectUri: "https://app.example/callback",
    store,
    ...(fetch ? { fetch: async () => (fetch as () => Promise<Response>)() } : { timeoutMs: 200 }),
    clock: () => T0,
  });
  const access = { value: "expired", expiresAt: T0 - 1 };
  await pos.connect({
    domainPrefix: shop,
    access,
    refreshToken: STORED,
    issuedAt: T0 - 1000,
    version: "first",
  });
  return { pos, store };
}

/** The body in pieces of these sizes, the rest in one; broken off before the last where an error is given. */
async function inChunks(
  body: Uint8Array,
  sizes: readonly number[],
  code: number,
  named: Record<string, string>,
  error?: Error,
): Promise<Response> {
  if (NULL_BODY.has(code)) return new Response(null, { status: code, headers: named });
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      let at = 0;
      for (const size of sizes) {
        controller.enqueue(body.slice(at, at + size));
        at += size;
      }
      if (error) return controller.error(error);
      controller.enqueue(body.slice(at));
      controller.close();
    },
  });
  return new Response(stream, { status: code, headers: named });
}

/** What a Response must not have a body with (Fetch standard). */
const NULL_BODY = new Set([204, 205, 304]);

async function outcomeOf(work: Promise<unknown>): Promise<unknown> {
  return answered(
    work.catch((error: unknown) =>
      error instanceof Error ? error : new Error("not even an error", { cause: error }),
    ),
  );
}

function expectTokenOrTypedError(outcome: unknown): void {
  if (outcome instanceof Error) expectTypedError(outcome, inRenewal);
  else expectUsable(outcome as AccessToken);
}

function expectTypedError(error: unknown, secrets: readonly string[]): void {
  if (!isRetailPosError(error)) throw new Error("The error is none of the library's", { cause: error });
  expect(error.status).toBeGreaterThanOrEqual(400);
  const shown = [
    inspect(error, { depth: 12, showHidden: true }),
    JSON.stringify(error),
    String(error.stack),
    String((error as { errorDescription?: string }).errorDescription),
  ].join("\n");
  for (const secret of secrets) {
    for (const form of [
      secret,
      encodeURIComponent(secret),
      new URLSearchParams({ s: secret }).toString().slice(2),
    ])
      expect(shown.includes(form), "a secret in an error").toBe(false);
  }
}

function expectUsable({ value, expiresAt }: AccessToken): void {
  expect(new Headers({ authorization: `Bearer ${value}` }).get("authorization")).toBe(`Bearer ${value}`);
  expect(value).not.toBe("");
  if (expiresAt !== undefined)
    expect(expiresAt > T0 && Number.isFinite(new Date(expiresAt).getTime())).toBe(true);
}

/** R4 and behaviours 3 and 11, read from the bytes without the library's help. */
function refreshTokenAfter(code: number, body: Uint8Array): string {
  const fields = code >= 200 && code < 300 && !NULL_BODY.has(code) ? fieldsOf(body) : undefined;
  const { refresh_token: rotated, domain_prefix: retailer } = fields ?? {};
  const isOther = typeof retailer === "string" && retailer !== "" && retailer.toLowerCase() !== "shop";
  return typeof rotated === "string" && rotated !== "" && !isOther ? rotated : STORED;
}

function fieldsOf(body: Uint8Array): Record<string, unknown> | undefined {
  if (body.byteLength > LONGEST_BODY) return undefined;
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(body)); // drops a byte-order mark
    return Object.prototype.toString.call(value) === "[object Object]"
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

function cut(body: Buffer<ArrayBufferLike>, { at, kind, byte }: Cut): Buffer<ArrayBufferLike> {
  const index = at % (body.length + 1);
  const [before, after] = [body.subarray(0, index), body.subarray(index)];
  if (kind === "insert") return Buffer.concat([before, Buffer.of(byte), after]);
  if (kind === "delete") return Buffer.concat([before, after.subarray(1)]);
  if (kind === "copy") return Buffer.concat([before, after, after]);
  if (kind === "end") return before;
  return Buffer.concat([before, Buffer.of((after[0] ?? 0) ^ (byte || 1)), after.subarray(1)]);
}
