import { parse } from "node:querystring";
import type express from "express";
import fc from "fast-check";
import { Passport } from "passport";
import { describe, expect, test } from "vitest";
import { browser } from "../../../../test/support/browser.js";
import { answered, anything, holds } from "../../../../test/support/fuzz.js";
import { APPLICATION, approval, loginSite } from "../../../../test/support/login-site.js";
import { fakeService } from "../../../core/testing/fake-service.js";
import { RetailPosStrategy } from "../index.js";

const CALLBACK = "https://app.example.net/callback";
const NAMES = ["code", "domain_prefix", "state", "scope", "error", "error_description", "error_uri"];

// What a query says. `STATE` is the state of the login under way; the others are of nobody or somebody else.

const STATE = "the-state-of-this-login";
const HALF = "half-of-that-state";
const name = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom("code", "domain_prefix", "state") },
  { weight: 4, arbitrary: fc.constantFrom(...NAMES) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(
        fc.constantFrom(...NAMES),
        fc.constantFrom("[]", "[0]", "[a]", "[__proto__]", "[", "]", ".a", "%00", " ", "[a][b]"),
      )
      .map(([one, suffix]) => one + suffix),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom("__proto__", "constructor", "hasOwnProperty", "toString", "", "Code", "STATE"),
  },
);
const word = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(STATE, "shop", "a-code") },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      ...[
        "",
        " ",
        "a",
        "x".repeat(5_000),
        "access_denied",
        "server_error",
        "invalid_grant",
        "SHOP",
        "evil.example/",
      ],
      ...[
        "evil#",
        "evil?",
        "a@evil",
        "shop\t",
        "sh\nop",
        "ｓｈｏｐ",
        "%2f",
        "xn--a",
        "\u0000",
        "é",
        "😀",
        "__proto__",
        "null",
      ],
      ...[
        `${STATE} `,
        ` ${STATE}`,
        `${STATE}\n`,
        `${STATE},${STATE}`,
        STATE.toUpperCase(),
        `${STATE}=`,
        HALF,
        `${STATE}${HALF}`,
      ],
    ),
  },
  { weight: 1, arbitrary: fc.string({ unit: "binary" }) },
);
const parameter = fc.tuple(name, word);
const good = fc.constant([
  ["code", "a-code"],
  ["domain_prefix", "shop"],
  ["state", STATE],
] as [string, string][]);
/** A good callback of which something is missing, repeated, replaced or too much; or nothing good at all. */
const parameters = fc.oneof(
  { weight: 1, arbitrary: good },
  { weight: 4, arbitrary: fc.tuple(good, parameter).map(([all, more]) => [...all, more]) },
  {
    weight: 4,
    arbitrary: fc
      .tuple(good, parameter)
      .map(([all, [key, value]]) => [...all.filter(([one]) => one !== key), [key, value]]),
  },
  { weight: 3, arbitrary: fc.array(parameter, { maxLength: 5 }) },
) as fc.Arbitrary<[string, string][]>;

/** As Express's parsers would have it, and as none of them would. */
const nonText = fc.oneof(
  fc.array(word, { maxLength: 3 }),
  fc.dictionary(fc.oneof(name, fc.string()), word, { maxKeys: 2 }),
  anything(),
);
const queryObject = fc
  .tuple(parameters, fc.array(fc.tuple(name, nonText), { maxLength: 2 }), fc.boolean())
  .map(([texts, others, isBare]) => {
    const query = isBare ? Object.create(null) : {};
    for (const [key, value] of [...texts, ...others])
      Object.defineProperty(query, key, { value, configurable: true, enumerable: true, writable: true });
    return query as Record<string, unknown>;
  });

/** What may lie in the session besides the login under way: JSON, and perhaps somebody. */
const session = fc.oneof(
  { weight: 3, arbitrary: fc.constant({}) },
  {
    weight: 1,
    arbitrary: fc.record(
      {
        passport: fc.constantFrom(
          {},
          "anna",
          { user: 7 },
          { user: { id: "anna" } },
          { user: { name: "anna" } },
        ),
        "retail-pos:login.example.com": fc.jsonValue(),
        user: fc.jsonValue(),
      },
      { requiredKeys: [] },
    ),
  },
);
const method = fc.oneof(
  { weight: 8, arbitrary: fc.constant("GET") },
  { weight: 1, arbitrary: fc.constantFrom("POST", "HEAD", "PUT", "get", "") },
);

describe("whatever query comes to the callback", () => {
  test("is answered once, spends a code only for the state that was sent, and nobody else's login", async () => {
    await holds(
      fc.asyncProperty(queryObject, method, session, async (query, verb, inSession) => {
        const login = await begun({ ...inSession });
        const own = withState(query, login.state);
        const answers = await login.ask({
          method: verb,
          query: own, // of a framework that gives no address
        });
        const isOurs = verb === "GET" && isGoodCallback(own, login.state);
        expect([answers, login.tokenRequests()]).toEqual([
          [isOurs ? "success" : expect.stringMatching(/^(fail|error|redirect)$/)],
          isOurs ? 1 : 0,
        ]);
        expect(await login.finish()).toEqual(isOurs ? ["fail"] : ["success"]);
      }),
      1_500,
    );
  });

  test("the same for a query that nobody has parsed", async () => {
    const encoded = fc.oneof(
      parameters.map((all) => new URLSearchParams(all).toString()),
      parameters.map((all) => all.map((pair) => pair.join("=")).join("&")),
      fc
        .array(fc.oneof(name, word, fc.constantFrom("=", "&", "%", "%zz", "+", ";", "#", "?", "//")), {
          maxLength: 9,
        })
        .map((all) => all.join("")),
    );
    await holds(
      fc.asyncProperty(encoded, fc.constantFrom(undefined, {}), async (text, query) => {
        const login = await begun({});
        const url = `/callback?${filledIn(text, login.state)}`;
        const answers = await login.ask({ method: "GET", query, url, originalUrl: url });
        const isOurs = isGoodCallback(parse(new URL(url, CALLBACK).search.slice(1)), login.state);
        expect(answers).toHaveLength(1);
        expect([answers[0] === "success", login.tokenRequests()]).toEqual([isOurs, isOurs ? 1 : 0]);
      }),
      1_500,
    );
  });

  test("the same for a request that lacks what requests have", async () => {
    const oddUrl = fc.oneof(
      fc.constantFrom(
        "",
        "/",
        "//",
        "///",
        "?",
        "*",
        "http://",
        "//[",
        "/callback",
        "https://evil.example/callback?code=1",
      ),
      fc.string({ unit: "binary" }),
    );
    const part = fc.record(
      {
        method: fc.constantFrom("GET", undefined),
        query: queryObject,
        url: oddUrl,
        originalUrl: oddUrl,
        headers: fc.constant({}),
      },
      { requiredKeys: ["url"] },
    );
    const options = fc.record(
      { session: fc.boolean(), state: anything(), scope: fc.constantFrom("", "a", ["a", "b"]) },
      { requiredKeys: [] },
    );
    await holds(
      fc.asyncProperty(part, options, async (request, given) => {
        const login = await begun({});
        const query = request.query && withState(request.query, login.state);
        const answers = await login.ask({ ...request, ...(query && { query }) }, given);
        expect(answers).toHaveLength(1);
        expect(login.tokenRequests()).toBeLessThanOrEqual(query?.["state"] === login.state ? 1 : 0);
      }),
      1_000,
    );
  });
});

describe.each(["simple", "extended"])(
  "over a real connection to Express with its %s query parser",
  (parser) => {
    test("whatever query comes to the callback is answered, and sends a code only for the state that was sent", async () => {
      const service = fakeService();
      const site = await loginSite(
        new Passport(),
        (callbackURL) =>
          new RetailPosStrategy(
            { ...APPLICATION, callbackURL, fetch: service.fetch },
            ({ domainPrefix }) => ({ domainPrefix }),
          ),
        { configure: (app: express.Express) => app.set("query parser", parser) },
      );
      await holds(
        fc.asyncProperty(parameters, fc.boolean(), async (all, isEncoded) => {
          service.seen.length = 0;
          const person = browser();
          const location = (await person.open(site.loginUrl)).location;
          const state = new URL(location).searchParams.get("state") ?? "";
          const own = all.map(([key, value]) => [key, filledIn(value, state)] as [string, string]);
          const query = isEncoded
            ? new URLSearchParams(own).toString()
            : own.map((pair) => pair.join("=")).join("&");
          const { status } = await person.open(`${site.callbackUrl}?${query}`);
          const isSent = service.seen.length > 0;
          expect(service.seen.length).toBeLessThanOrEqual(1);
          if (isSent) expect(new URL(`http://a/?${query}`).searchParams.getAll("state")).toEqual([state]);
          expect(isSent ? [200] : [302, 400, 403, 500, 502, 503]).toContain(status);
          if (isSent) return;
          expect((await person.open(approval(location, "shop"))).status).toBe(200); // nobody spent it
        }),
        100,
      );
    });
  },
);

type Answer = "success" | "fail" | "error" | "redirect";

interface Begun {
  readonly state: string;
  /** How the strategy answered, as Passport tells it: once, or this is not a list of one. */
  ask(request: object, options?: object): Promise<Answer[]>;
  /** The real callback of this login. */
  finish(): Promise<Answer[]>;
  tokenRequests(): number;
}

/** A login that has been started, in a session, with the real Passport and a request like Express's. */
async function begun(inSession: Record<string, unknown>): Promise<Begun> {
  const service = fakeService();
  const passport = new Passport();
  const options = { ...APPLICATION, callbackURL: CALLBACK, fetch: service.fetch };
  passport.use(new RetailPosStrategy(options, ({ domainPrefix }) => ({ domainPrefix })));
  const session = Object.defineProperty(inSession, "regenerate", {
    value: (done: () => void) => done(),
    configurable: true,
  });
  let location = "";
  await ask({ method: "GET", url: "/login", originalUrl: "/login", query: {} }, {}, (url) => {
    location = url;
  });
  const state = new URL(location).searchParams.get("state") ?? "";
  return {
    state,
    ask: (request, given = {}) => ask(request, given),
    finish: () => {
      const url = `/callback?code=the-code&domain_prefix=shop&state=${state}`;
      return ask({ method: "GET", url, originalUrl: url, query: {} }, {});
    },
    tokenRequests: () => service.seen.length,
  };

  async function ask(request: object, given: object, onRedirect?: (url: string) => void): Promise<Answer[]> {
    const answers: Answer[] = [];
    const req = { headers: { host: "app.example.net", cookie: "sid=1" }, session, ...request };
    await answered(
      new Promise<void>((resolve) => {
        const answer = (one: Answer) => {
          answers.push(one);
          setImmediate(resolve); // a second answer would come by then
        };
        const res = {
          setHeader: (header: string, value: string) => header === "Location" && onRedirect?.(value),
          end: () => answer("redirect"),
        };
        const done = (error: unknown, user: unknown) => answer(error ? "error" : user ? "success" : "fail");
        passport.authenticate("retail-pos", given, done)(req, res, () => answer("error"));
      }),
    );
    return answers;
  }
}

/** Read from 2.3, without the library's help. */
function isGoodCallback(query: Record<string, unknown>, state: string): boolean {
  const { code, domain_prefix, error } = query;
  const isOdd = NAMES.some(
    (key) =>
      (query[key] !== undefined && typeof query[key] !== "string") ||
      Object.keys(query).some((other) => other.startsWith(`${key}[`)),
  );
  if (isOdd || error !== undefined || query["state"] !== state) return false;
  const isPunycode = String(domain_prefix).startsWith("xn--");
  return (
    !isPunycode &&
    /^[\x20-\x7e]{1,4096}$/.test(String(code ?? "")) &&
    /^(?!-)[a-z0-9-]{1,63}(?<!-)$/i.test(String(domain_prefix ?? "")) // the service of these tests has every retailer
  );
}

function filledIn(text: string, state: string): string {
  return text.replaceAll(STATE, state).replaceAll(HALF, state.slice(0, state.length / 2));
}

function withState(query: Record<string, unknown>, state: string): Record<string, unknown> {
  const own = Object.create(Object.getPrototypeOf(query));
  for (const [key, value] of Object.entries(query))
    Object.defineProperty(own, key, {
      value: typeof value === "string" ? filledIn(value, state) : value,
      configurable: true,
      enumerable: true,
      writable: true,
    });
  return own;
}
