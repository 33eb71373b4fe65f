import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { answered, anything, holds } from "../../../../../test/support/fuzz.js";
import { personalToken } from "../personal-token.js";
import type { RetailerClient } from "../retailer-client.js";

const TOKEN = "the-bearer";
const BASES = [
  "https://{domain_prefix}.example.com",
  "https://{domain_prefix}.example.com:8443/pos",
  "https://example.com/stores/{domain_prefix}",
  "https://example.com/a/b/{domain_prefix}/v2",
] as const;

/** What takes an address elsewhere, in one parser or another. */
const shards = fc.constantFrom(
  ...[
    "/",
    "//",
    "///",
    "\\",
    "\\\\",
    "/\\",
    "..",
    "../",
    "/..",
    "/../",
    "./",
    "/./",
    "...",
    "..;/",
    ".",
    "~",
  ],
  ...[
    "%2e",
    "%2E",
    "%2e%2e",
    "%2e%2E/",
    ".%2e",
    "%2e.",
    "%2f",
    "%2F",
    "%5c",
    "%5C",
    "%2f..",
    "..%2f",
    "..%5c",
    "%00",
  ],
  ...["%252e%252e%252f", "%u002e", "%c0%ae", "%e3%80%82", "．．", "／", "＼", "。。", "\u2025", "\u2216"],
  ...[
    "http:",
    "https:",
    "HTTPS:",
    "https:/",
    "https://",
    "javascript:",
    "data:,",
    "blob:",
    "file:///",
    "ws://",
    ":",
  ],
  ...[
    "@",
    "user@",
    "user:pw@",
    "evil.example",
    "//evil.example",
    "example.com",
    "shop.example.com",
    ":8443",
    "127.1",
  ],
  ...[
    "?",
    "#",
    "?a=//evil",
    "&",
    "=",
    ";",
    "*",
    " ",
    "\t",
    "\n",
    "\r",
    "\0",
    "\u0085",
    "\u00a0",
    "\u2028",
    "\ufeff",
  ],
  ...[
    "api",
    "api/products",
    "shop",
    "stores",
    "pos",
    "a",
    "b",
    "v2",
    "1",
    "é",
    "😀",
    "\ud800",
    "[",
    "]",
    "|",
    "^",
    "`",
  ],
);
const pieces = fc.array(shards, { maxLength: 9 }).map((parts) => parts.join(""));
/** A whole address that begins as the base does. */
const within = (base: string, rest: string) => `${base.replace("{domain_prefix}", "shop")}${rest}`;
/** Almost the same address. */
const otherOrigin = fc.constantFrom<(address: string) => string>(
  (address) => address.replace("https:", "http:"),
  (address) => address.replace("https:", "wss:"),
  (address) => address.replace("https://", "https://shop:pw@"),
  (address) => address.replace("example.com", "example.com:444"),
  (address) => address.replace("example.com", "example.com."),
  (address) => address.replace("example.com", "example.com.evil.example"),
  (address) => address.replace("shop", "other"),
  (address) => address.replace("shop", "SHOP"),
);
const addressAt = (base: string): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 6, arbitrary: pieces },
    { weight: 3, arbitrary: pieces.map((rest) => within(base, rest)) },
    {
      weight: 2,
      arbitrary: fc.tuple(pieces, fc.constantFrom(...BASES)).map(([rest, other]) => within(other, rest)),
    },
    { weight: 1, arbitrary: fc.string({ unit: "binary" }) },
    { weight: 1, arbitrary: fc.string({ unit: "binary" }).map((rest) => within(base, rest)) },
    {
      weight: 2,
      arbitrary: fc.tuple(otherOrigin, pieces).map(([change, rest]) => change(within(base, rest))),
    },
    { weight: 1, arbitrary: fc.webUrl({ withFragments: true, withQueryParameters: true }) },
  );
const baseAndAddress = fc
  .constantFrom(...BASES)
  .chain((base) => fc.tuple(fc.constant(base), addressAt(base)));
/** As what the text is given; as it is, where it is no address by itself. */
const shape = fc.constantFrom("string", "string", "URL", "Request", "Request with a body");
const init = fc.option(
  fc.record(
    {
      method: fc.constantFrom("GET", "POST", "DELETE"),
      headers: fc.oneof(
        fc.dictionary(
          fc.constantFrom("authorization", "Authorization", "AUTHORIZATION", "x-a"),
          fc.constantFrom("Basic eA", "x"),
        ),
        fc.constantFrom([
          ["Authorization", "Bearer other"],
          ["authorization", "Bearer third"],
        ] as [string, string][]),
      ),
      redirect: fc.constantFrom("follow", "manual", "error"),
    },
    { requiredKeys: [] },
  ),
  { nil: undefined },
);

describe("whatever fetch is given for an address", () => {
  test("it is refused with a TypeError and nothing sent, or goes below baseUrl with the one bearer", async () => {
    await holds(
      fc.asyncProperty(baseAndAddress, shape, init, async ([base, address], kind, given) => {
        const input = shaped(address, kind);
        const { client, sent } = clientAt(base);
        const outcome = await outcomeOf(client.fetch(input, given as RequestInit));
        if (outcome instanceof Error) {
          expect([outcome.name, sent]).toEqual(["TypeError", []]);
          return;
        }
        expect(sent).toHaveLength(1);
        expectBelow(client.baseUrl, sent[0]?.url ?? "");
        expect(sent[0]?.authorization).toBe(`Bearer ${TOKEN}`);
      }),
      6_000,
    );
  });

  test("a plain path is not refused", async () => {
    const segment = fc
      .stringMatching(/^[\w~!$&'()*+,;=:@-][\w.~!$&'()*+,;=:@-]{0,12}$/)
      .filter((part) => !part.includes(":"));
    const query = fc.option(fc.dictionary(fc.string({ minLength: 1 }), fc.string()), { nil: {} });
    await holds(
      fc.asyncProperty(
        fc.constantFrom(...BASES),
        fc.array(segment, { minLength: 1, maxLength: 5 }),
        fc.boolean(),
        query,
        async (base, segments, slash, parameters) => {
          const { client, sent } = clientAt(base);
          const path = `${segments.join("/")}?${new URLSearchParams(parameters as Record<string, string>)}`;
          await client.fetch(`${slash ? "/" : ""}${path}`);
          expect(sent.map(({ url }) => url)).toEqual([new URL(`${client.baseUrl}/${path}`).href]);
        },
      ),
      2_000,
    );
  });

  test("what is no text, no URL and no Request is refused, or read as the text it turns into", async () => {
    await holds(
      fc.asyncProperty(fc.constantFrom(...BASES), anything(), async (base, input) => {
        const { client, sent } = clientAt(base);
        const outcome = await outcomeOf(client.fetch(input as string));
        if (outcome instanceof Error) expect([outcome.name, sent]).toEqual(["TypeError", []]);
        else expectBelow(client.baseUrl, sent[0]?.url ?? "");
      }),
      2_000,
    );
  });
});

describe("over a real connection", () => {
  const arrived: IncomingMessage[] = [];
  const server = createServer((req, res) => {
    arrived.push(req);
    res.end();
  });
  const elsewhere: IncomingMessage[] = [];
  const trap = createServer((req, res) => {
    elsewhere.push(req);
    res.end();
  });
  beforeAll(async () => {
    for (const one of [server, trap])
      await new Promise<void>((resolve) => one.listen(0, "127.0.0.1", resolve));
  });
  afterAll(() => {
    for (const one of [server, trap]) {
      one.close();
      one.closeAllConnections();
    }
  });

  test("nothing arrives anywhere but below baseUrl, and what arrives has the bearer", async () => {
    const { port } = server.address() as AddressInfo;
    const trapAt = (trap.address() as AddressInfo).port;
    const base = `http://127.0.0.1:${port}/stores/{domain_prefix}`;
    const bait = fc.constantFrom(
      ...[
        `//127.0.0.1:${trapAt}`,
        `http://127.0.0.1:${trapAt}/`,
        `@127.0.0.1:${trapAt}/`,
        `\\\\127.0.0.1:${trapAt}`,
      ],
      ...[
        `http://127.0.0.1:${port}`,
        `http://127.0.0.1:${port}@127.0.0.1:${trapAt}`,
        `:${trapAt}`,
        `#@127.0.0.1:${trapAt}`,
      ],
    );
    const parts = fc.array(fc.oneof({ weight: 3, arbitrary: shards }, { weight: 1, arbitrary: bait }), {
      maxLength: 6,
    });
    await holds(
      fc.asyncProperty(parts, fc.boolean(), shape, async (all, isWhole, kind) => {
        arrived.length = 0;
        const client = personalToken({ baseUrl: base, domainPrefix: "shop", token: TOKEN });
        const address = isWhole ? within(base, all.join("")) : all.join("");
        const outcome = await outcomeOf(client.fetch(shaped(address, kind)));
        if (outcome instanceof Error) expect([outcome.name, arrived.length]).toEqual(["TypeError", 0]);
        for (const { url, headers } of arrived) {
          expectBelow(client.baseUrl, `http://${headers.host}${url}`);
          expect(headers.authorization).toBe(`Bearer ${TOKEN}`);
        }
        expect(elsewhere).toEqual([]);
      }),
      500,
    );
  });
});

interface Sent {
  readonly url: string;
  readonly authorization: string | null;
}

function clientAt(baseUrl: string): { client: RetailerClient; sent: Sent[] } {
  const sent: Sent[] = [];
  const fetch: typeof globalThis.fetch = async (target, given) => {
    const { url, headers } = new Request(target, given); // as the real one reads it
    sent.push({ url, authorization: headers.get("authorization") });
    return new Response();
  };
  return { client: personalToken({ baseUrl, domainPrefix: "shop", token: TOKEN, fetch }), sent };
}

function shaped(address: string, kind: string): string | URL | Request {
  if (kind === "string" || !URL.canParse(address)) return address;
  if (kind === "URL") return new URL(address);
  try {
    return new Request(
      address,
      kind === "Request" ? {} : { method: "POST", body: "{}", headers: { authorization: "x" } },
    );
  } catch {
    return address; // with a user name in it
  }
}

/**
 * What arrives there, after every server on the way has had its own idea of the path: dots, slashes and
 * backslashes decoded once, twice or not, parameters kept or dropped, empty segments too, dot segments resolved.
 */
function expectBelow(baseUrl: string, arrivedAt: string): void {
  const [base, url] = [new URL(baseUrl), new URL(arrivedAt)];
  expect([url.origin, url.username, url.password]).toEqual([base.origin, "", ""]);
  const decoded = url.pathname.replace(/%2e/gi, ".").replace(/%2f/gi, "/").replace(/%5c/gi, "\\");
  const once = unescape(url.pathname);
  const readings = [url.pathname, decoded, once, unescape(once)]
    .flatMap((path) => [path, path.replaceAll("\\", "/")])
    .flatMap((path) => [path, path.replace(/;[^/]*/g, "")])
    .flatMap((path) => [path, path.replace(/\/{2,}/g, "/")]);
  for (const reading of readings) {
    expect(`${resolved(reading)}/`, reading).toMatch(new RegExp(`^${resolved(base.pathname)}/`));
  }
}

/** Dot segments resolved (RFC 3986, 5.2.4), with nothing else changed. */
function resolved(path: string): string {
  const kept: string[] = [];
  for (const segment of path.split("/").slice(1)) {
    if (segment === "..") kept.pop();
    else if (segment !== ".") kept.push(segment);
  }
  return kept.length > 0 ? `/${kept.join("/")}`.replace(/\/+$/, "") : "";
}

async function outcomeOf(work: Promise<unknown>): Promise<unknown> {
  return answered(work.catch((error: unknown) => error));
}
