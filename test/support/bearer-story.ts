import type { IncomingHttpHeaders, RequestListener } from "node:http";
import { inspect } from "node:util";
import { type BearerOptions, type RequestBearer, type RetailPos, retailPos } from "@retail-pos/core";
import { type Sandbox, startSandbox, type VirtualClock, virtualClock } from "@retail-pos/sandbox";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Listening, listen } from "./listen.js";

/** What the request of every framework can do. */
export interface RequestLike {
  get(name: string): string | undefined;
}

/** One framework with our middleware. */
export interface Framework {
  readonly name: string;
  /** The middleware alone: for its option mistakes. */
  readonly bearer: (options: BearerOptions<RequestLike>) => unknown;
  /** An application that answers every request, behind the middleware, with {@link answerTo} as JSON. */
  readonly app: (options: BearerOptions<RequestLike>) => RequestListener;
  /** How an application says 404 there; default an error with a `status`. */
  readonly notFound?: (message: string) => Error;
}

/** The options as a framework takes them whose request has no `get`. */
export function optionsOf<Context>(
  options: BearerOptions<RequestLike>,
  headerOf: (context: Context, name: string) => string | undefined,
): BearerOptions<Context> {
  const { retailer } = options;
  if (typeof retailer !== "function") return options as BearerOptions<Context>;
  const inStory = (context: Context) => retailer({ get: (name) => headerOf(context, name) });
  return { ...options, retailer: inStory } as BearerOptions<Context>;
}

const store = "harbour-coffee";

/** What the middleware brought, and what the API said to it. */
export async function answerTo(
  retailPos: RequestBearer | undefined,
  headers: IncomingHttpHeaders,
): Promise<object> {
  if (!retailPos) return { without: true, header: headers.authorization };
  const answer = await retailPos.fetch("/api/retailer");
  const { data } = (await answer.json()) as { data?: { products: number } };
  return {
    domainPrefix: retailPos.domainPrefix,
    products: data?.products,
    apiStatus: answer.status,
    header: headers.authorization,
    matches: retailPos.authorization === `Bearer ${retailPos.accessToken}`,
    shown: inspect(retailPos, { depth: 10 }) + JSON.stringify(retailPos),
  };
}

function notFoundByStatus(message: string): Error {
  return Object.assign(new Error(message), { status: 404 });
}

/** What every bearer middleware has to do, with the real framework and the real service. */
export function bearerStory({ name, bearer, app, notFound = notFoundByStatus }: Framework): void {
  describe(name, () => {
    let clock: VirtualClock;
    let sandbox: Sandbox;
    let pos: RetailPos;
    let server: Listening | undefined;

    beforeEach(async () => {
      clock = virtualClock();
      sandbox = await startSandbox({ clock, rotation: "always", lifetimeMs: 600_000 });
      pos = retailPos({
        ...sandbox.application,
        authUrl: sandbox.authUrl,
        baseUrl: sandbox.baseUrl,
        clock,
      });
    });
    afterEach(async () => {
      await server?.close();
      await sandbox.close();
    });

    test("puts the retailer's bearer on the request before the next middleware runs", async () => {
      await connect(store);
      const { body } = await get(app({ client: pos, retailer: () => store }));
      expect(body).toMatchObject({ domainPrefix: store, products: 8, matches: true });
    });

    test("1,000 concurrent requests at the instant of expiry make one token request, and all are served", async () => {
      await connect(store);
      const { port } = await serve(app({ client: pos, retailer: () => store }));
      clock.advance(600_000);
      const before = sandbox.tokenRequests(store).length;
      const answers = await Promise.all(
        Array.from({ length: 1000 }, async () => {
          const answer = await fetch(`http://127.0.0.1:${port}`);
          await answer.arrayBuffer();
          return answer.status;
        }),
      );
      expect(answers.filter((status) => status === 200)).toHaveLength(1000);
      expect(sandbox.tokenRequests(store)).toHaveLength(before + 1);
    });

    test.each([
      ["undefined", () => undefined],
      ["null", () => null],
      ["an empty text", () => ""],
      ["a promise of undefined", async () => undefined],
      ["a retailer that never logged in", () => "second-chapter"],
    ])("without a retailer (%s) answers 401, and the API sees no call", async (_case, retailer) => {
      const { status } = await get(app({ client: pos, retailer }));
      expect(status).toBe(401);
      expect(sandbox.requests).toHaveLength(0);
    });

    test.each(["evil.example/", "a@evil", "../x", "shop\t", "a".repeat(64), ["shop"], { shop: 1 }, 7])(
      "a hostile retailer (%j) answers 400, and nothing is sent",
      async (hostile) => {
        const retailer = () => hostile as string;
        expect((await get(app({ client: pos, retailer }))).status).toBe(400);
        expect(sandbox.requests).toHaveLength(0);
      },
    );

    test.each([
      [
        "throws",
        () => {
          throw new Error("no directory");
        },
      ],
      [
        "rejects",
        async () => {
          throw new Error("no directory");
        },
      ],
    ])("a retailer function that %s reaches next(err)", async (_case, retailer) => {
      expect((await get(app({ client: pos, retailer }))).status).toBe(500);
    });

    test("a stranger who names a store gets the application's own 404: no token request, no call, no token shown", async () => {
      const tokens = await connect(store);
      clock.advance(600_000); // whoever got through would cause a renewal
      const before = sandbox.requests.length;
      const storesOf: Record<string, string[]> = { owner: [store], stranger: ["second-chapter"] };
      const retailer = (req: RequestLike) => {
        const asked = req.get("x-store") ?? "";
        if (storesOf[req.get("x-user") ?? ""]?.includes(asked)) return asked;
        throw notFound("There is no such store");
      };
      const site = app({ client: pos, retailer });
      const { status, text } = await get(site, { "x-user": "stranger", "x-store": store });
      expect(status).toBe(404);
      expect(text).not.toContain(tokens.access.value);
      expect(sandbox.requests).toHaveLength(before);
      expect((await get(site, { "x-user": "owner", "x-store": store })).status).toBe(200);
    });

    test("a rate limited renewal answers 503 with Retry-After through the default error handler", async () => {
      await connect(store);
      clock.advance(600_000);
      sandbox.limit(store, 30_000);
      const { status, headers } = await get(app({ client: pos, retailer: () => store }));
      expect(status).toBe(503);
      expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
      expect(Number(headers.get("retry-after"))).toBeLessThanOrEqual(31);
    });

    test("a refused refresh token answers 401, and no answer shows a token", async () => {
      const tokens = await connect(store);
      sandbox.refuse(store);
      clock.advance(600_000);
      const { status, text } = await get(app({ client: pos, retailer: () => store }));
      expect(status).toBe(401);
      expect(text).not.toContain(tokens.access.value);
      expect(text).not.toContain(tokens.refreshToken);
    });

    test("optional goes on without a bearer, but does not hide other trouble", async () => {
      const site = app({ client: pos, retailer: (req) => req.get("x-store") ?? null, optional: true });
      expect((await get(site)).body).toEqual({ without: true });
      expect((await get(site, { "x-store": "second-chapter" })).body).toEqual({ without: true });
      expect((await get(site, { "x-store": "no.store" })).status).toBe(400);
      await connect(store);
      sandbox.fault(500);
      clock.advance(600_000);
      expect((await get(site, { "x-store": store })).status).toBe(502);
    });

    test.each<[false | "" | null]>([[false], [""], [null]])(
      "a retailer function may say %j for none, as `user && user.name` does",
      async (none) => {
        expect((await get(app({ client: pos, retailer: () => none }))).status).toBe(401);
      },
    );

    test("header sets the request's own authorization; with optional and no token it removes what came", async () => {
      const tokens = await connect(store);
      const retailer = (req: RequestLike) => req.get("x-store");
      const site = app({ client: pos, retailer, header: true, optional: true });
      const spoofed = { authorization: "Bearer of the caller's own" };
      const withStore = await get(site, { ...spoofed, "x-store": store });
      expect(withStore.body).toMatchObject({ header: `Bearer ${tokens.access.value}` });
      expect((await get(site, spoofed)).body).toEqual({ without: true });
    });

    test("personal-token mode puts the token on every request and never asks the token endpoint", async () => {
      const token = sandbox.createPersonalToken(store);
      const personalToken = { baseUrl: sandbox.baseUrl, domainPrefix: store, token };
      const site = app({ personalToken });
      expect((await get(site)).body).toMatchObject({ products: 8, matches: true });

      sandbox.resetPassword(store);
      expect((await get(site)).body).toMatchObject({ apiStatus: 401 });
      expect(sandbox.tokenRequests()).toHaveLength(0);
    });

    test("a logged request shows no token", async () => {
      const tokens = await connect(store);
      const { body } = await get(app({ client: pos, retailer: () => store }));
      expect(body.shown).toContain(store);
      expect(body.shown).not.toContain(tokens.access.value);
    });

    test("a client that hangs up during a renewal ends nothing: the renewed token is saved", async () => {
      await connect(store);
      clock.advance(600_000);
      const { origin } = await serve(app({ client: pos, retailer: () => store }));
      const late = sandbox.fault("late", { domainPrefix: store });
      const impatient = new AbortController();
      const request = fetch(origin, { signal: impatient.signal }).catch(() => "hung up");
      await late.struck;
      impatient.abort();
      expect(await request).toBe("hung up");
      late.release();
      expect((await fetch(origin)).status).toBe(200);
      expect(sandbox.tokenRequests(store)).toHaveLength(2);
    });

    async function connect(domainPrefix: string) {
      const callback = sandbox.approve(domainPrefix);
      const tokens = await pos.exchange(domainPrefix, callback.searchParams.get("code") ?? "");
      await pos.connect(tokens);
      return tokens;
    }

    async function serve(app: Parameters<typeof listen>[0]): Promise<Listening> {
      server = await listen(app);
      return server;
    }

    async function get(app: Parameters<typeof listen>[0], headers: Record<string, string> = {}) {
      const { origin, close } = await serve(app);
      const answer = await fetch(origin, { headers });
      const text = await answer.text();
      await close();
      const isJson = answer.headers.get("content-type")?.includes("json");
      return {
        status: answer.status,
        headers: answer.headers,
        text,
        body: isJson ? JSON.parse(text) : undefined,
      };
    }

    test.each<[string, object]>([
      ["client", {}],
      ["client", { client: {}, retailer: () => "shop" }],
      ["retailer", { client: { retailer() {} } }],
      [
        "personalToken",
        {
          personalToken: { baseUrl: "https://{domain_prefix}.example.com", domainPrefix: "a", token: "t" },
          retailer: () => "a",
        },
      ],
      [
        "token",
        { personalToken: { baseUrl: "https://{domain_prefix}.example.com", domainPrefix: "a", token: "" } },
      ],
    ])("a mistake in %s is a TypeError that names it", (option, options) => {
      const mistake = () => bearer(options as BearerOptions<RequestLike>);
      expect(mistake).toThrow(TypeError);
      expect(mistake).toThrow(option);
    });
  });
}
