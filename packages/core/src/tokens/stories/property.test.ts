import { inspect } from "node:util";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { answered, anything, holds } from "../../../../../test/support/fuzz.js";
import { fakeService, start, T0 } from "../../../testing/fake-service.js";
import { parseDomainPrefix } from "../../vocabulary/domain-prefix.js";
import {
  InvalidDomainPrefixError,
  isRetailPosError,
  NotConnectedError,
  StoredTokensError,
} from "../../vocabulary/errors.js";
import type { TokenSet } from "../../vocabulary/token-set.js";
import type { TokenStore } from "../../vocabulary/token-store.js";

const REFRESH = "canary-refresh /+&=%é";
const ACCESS = "canary-access";
const good = {
  domainPrefix: "shop",
  access: { value: ACCESS, expiresAt: T0 + 3_600_000 },
  refreshToken: REFRESH,
  issuedAt: T0 - 1000,
  version: "first",
  refusedAt: T0 - 100,
};

// A path into the set, and what stands there instead.
const place = fc.constantFrom(
  ...[["domainPrefix"], ["access"], ["access", "value"], ["access", "expiresAt"], ["refreshToken"]],
  ...[["issuedAt"], ["version"], ["refusedAt"], ["__proto__"], ["access", "__proto__"], ["then"]],
);
const odd = fc.oneof(
  { weight: 3, arbitrary: fc.jsonValue() },
  { weight: 3, arbitrary: anything() },
  { weight: 2, arbitrary: fc.oneof(fc.double(), fc.integer(), fc.string({ unit: "binary" })) },
  {
    weight: 4,
    arbitrary: fc.constantFrom<unknown>(
      ...[
        undefined,
        null,
        "",
        " ",
        0,
        -1,
        1e300,
        -1e300,
        Number.NaN,
        Number.POSITIVE_INFINITY,
        T0,
        T0 - 1,
        T0 + 1,
      ],
      ...[
        "SHOP",
        "other",
        "shop\n",
        "a\r\nX-Evil: 1",
        "é",
        "\ud800",
        "token with spaces",
        "\u0000",
        String(T0),
        [ACCESS],
      ],
    ),
  },
);
const spoilt = fc
  .tuple(fc.array(fc.tuple(place, odd), { maxLength: 4 }), fc.array(place, { maxLength: 3 }))
  .map(([changes, missing]) => {
    const set = structuredClone(good) as Record<string, unknown>;
    for (const path of missing) change(set, path, (at, name) => delete at[name]);
    for (const [path, value] of changes) change(set, path, (at, name) => define(at, name, value));
    return set;
  });
const record = fc.oneof(
  { weight: 6, arbitrary: spoilt },
  { weight: 1, arbitrary: fc.jsonValue() },
  { weight: 1, arbitrary: anything() },
  { weight: 1, arbitrary: fc.constantFrom(undefined, null, good) },
);

describe("whatever a store gives for a record", () => {
  test("it ends in a token that can stand in a header, or in a typed error that shows no token", async () => {
    await holds(
      fc.asyncProperty(record, async (stored) => {
        const { pos, service } = clientOf(storeThatGives(async () => stored));
        const outcome = await outcomeOf(pos.tokens("shop").token());
        if (!isRetailPosError(outcome)) expectBearer(outcome);
        else expectTyped(outcome, stored);
        for (const text of service.spent()) expect(text).toBe(onTheWire((stored as TokenSet).refreshToken));
      }),
      2_000,
    );
  });

  test("the API is called with such a bearer or not at all", async () => {
    await holds(
      fc.asyncProperty(record, async (stored) => {
        const calls: (string | null)[] = [];
        const tokenEndpoint = fakeService();
        const { pos } = clientOf(
          storeThatGives(async () => stored),
          async (input, init) => {
            if (String(input).endsWith("/api/1.0/token")) return tokenEndpoint.fetch(input, init);
            calls.push(new Headers(init?.headers).get("authorization"));
            return new Response("[]");
          },
        );
        const outcome = await outcomeOf(pos.retailer("shop").fetch("api/products"));
        if (outcome instanceof Response)
          expect(calls).toEqual([expect.stringMatching(/^Bearer [\x21-\x7e]+$/)]);
        else expect([calls, isRetailPosError(outcome)]).toEqual([[], true]);
      }),
      1_500,
    );
  });
});

test("whatever a store throws shows no token afterwards, and a live token is served all the same", async () => {
  type Thrown = (set: TokenSet) => unknown;
  const thrown = fc.oneof<fc.Arbitrary<Thrown>[]>(
    anything().map((value) => () => value),
    fc.string().map((name) => (set) => Object.assign(new Error("no"), { [name]: set })),
    fc.string().map((name) => ({ access, refreshToken }) => ({
      [name]: [refreshToken, { [access.value]: 1 }],
    })),
    fc.constant((set) => new Error(`INSERT ${JSON.stringify(set)}`)),
    fc.constant((set) => new AggregateError([set.refreshToken], set.access.value)),
    fc.constant((set) => Object.assign(new Error("circular"), { set, toJSON: () => set })),
  );
  await holds(
    fc.asyncProperty(thrown, fc.boolean(), async (make, isSync) => {
      let isDown = false;
      const store = storeThatGives(async () => undefined);
      const fail = (set: TokenSet): Promise<never> => {
        if (isSync) throw make(set);
        return Promise.reject(make(set));
      };
      const { pos, events } = clientOf({
        ...store,
        load: (domainPrefix) => (isDown ? fail(good as unknown as TokenSet) : store.load(domainPrefix)),
        save: (next) => (isDown ? fail(next) : store.save(next)),
      });
      await pos.connect(setWith({}));
      isDown = true;
      expect(await outcomeOf(pos.tokens("shop").token())).toMatchObject({ value: ACCESS });
      const failure = await outcomeOf(pos.connect(setWith({ version: "second" })));
      for (const shown of [failure, events]) {
        expect(inspect(shown, { depth: 12, showHidden: true })).not.toMatch(/canary/);
        expect(asJson(shown)).not.toMatch(/canary/);
      }
      const told = events.map(({ type }) => type); // a load may also bring nonsense instead of failing
      expect(told.includes("store_failed") || told.includes("renewal_failed")).toBe(true);
    }),
    500,
  );
});

test("whatever connect is given is stored whole, or refused by name with nothing stored", async () => {
  await holds(
    fc.asyncProperty(record, async (given) => {
      const saved: TokenSet[] = [];
      const store = storeThatGives(async () => undefined, saved);
      const { pos } = clientOf(store);
      const outcome = await outcomeOf(pos.connect(given as TokenSet).then(() => "connected"));
      if (outcome === "connected") {
        expect(saved).toHaveLength(1);
        const { domainPrefix, refreshToken } = given as TokenSet;
        expect(saved[0]).toMatchObject({ domainPrefix, refreshToken });
        expect(parseDomainPrefix(domainPrefix)).toBe(domainPrefix);
        return;
      }
      const isNamed = outcome instanceof TypeError && /^tokens is no token set: /.test(outcome.message);
      expect([isNamed || outcome instanceof InvalidDomainPrefixError, saved]).toEqual([true, []]);
    }),
    2_000,
  );
});

function clientOf(store: TokenStore, fetch?: typeof globalThis.fetch) {
  return start({ store, cacheMs: 0, ...(fetch && { fetch }) }, acceptsEverything());
}

/** A service that renews whatever it is given: what is asked here is what the client makes of its store. */
function acceptsEverything() {
  const service = fakeService();
  service.always(
    () =>
      new Response(
        JSON.stringify({ access_token: "canary-renewed", expires_in: 86_400, refresh_token: "next" }),
      ),
  );
  return service;
}

/** Gives what it is told to, until something has been saved. */
function storeThatGives(load: () => Promise<unknown>, saved: TokenSet[] = []): TokenStore {
  return {
    load: async () => (saved.at(-1) ?? (await load())) as TokenSet,
    save: async (next) => saved.push(next) > 0,
    remove: async () => {},
  };
}

function setWith(change: object): TokenSet {
  const { refusedAt: _refusedAt, ...set } = good;
  return { ...set, ...change } as unknown as TokenSet;
}

function expectBearer(token: unknown): void {
  const { value, expiresAt } = token as { value: string; expiresAt?: number };
  expect(new Headers({ authorization: `Bearer ${value}` }).get("authorization")).toBe(`Bearer ${value}`);
  expect(value).not.toBe("");
  if (expiresAt !== undefined) expect(expiresAt > T0).toBe(true);
}

function expectTyped(error: Error, stored: unknown): void {
  const isNone = stored === undefined || stored === null;
  const isRefused = isRetailPosError(error) && error.code === "reconnect_required";
  expect(isNone ? error instanceof NotConnectedError : error instanceof StoredTokensError || isRefused).toBe(
    true,
  );
  expect(inspect(error, { depth: 12, showHidden: true })).not.toMatch(/canary/);
}

/** Half a surrogate pair cannot be sent. */
function onTheWire(text: string): string | null {
  return new URLSearchParams(new URLSearchParams({ text }).toString()).get("text");
}

async function outcomeOf(work: Promise<unknown>): Promise<unknown> {
  return answered(work.catch((error: unknown) => error));
}

function asJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    return "";
  }
}

function change(
  set: Record<string, unknown>,
  path: readonly string[],
  how: (at: Record<string, unknown>, name: string) => void,
): void {
  const parent = path.length > 1 ? set[path[0] as string] : set;
  if (typeof parent === "object" && parent !== null)
    how(parent as Record<string, unknown>, path.at(-1) as string);
}

/** As JSON.parse does it: `__proto__` is a name like any other. */
function define(at: Record<string, unknown>, name: string, value: unknown): void {
  if (Object.isExtensible(at))
    Object.defineProperty(at, name, { value, configurable: true, enumerable: true, writable: true });
}
