import { AsyncLocalStorage } from "node:async_hooks";
import { describe, expect, test } from "vitest";
import {
  DAY_MS,
  failureOf,
  fakeService,
  json,
  oauthError,
  settled,
  start,
  T0,
} from "../../testing/fake-service.js";
import type { RetailPos } from "../retail-pos.js";
import type { RetailPosOptions } from "../settings/options.js";
import { memoryStore } from "../store/memory-store.js";
import { NotConnectedError, StoredTokensError, StoreFailedError } from "./errors.js";
import type { RetailPosEvent } from "./events.js";
import type { Lock } from "./lock.js";
import type { RetailerStatus } from "./retailer-status.js";
import type { TokenSet } from "./token-set.js";

const away = () => Promise.reject(new Error("away"));
const unusable = (about?: unknown) =>
  Promise.reject(new StoredTokensError("no key opens it", about === "shop" ? { domainPrefix: "shop" } : {}));
const withStore = (parts: object) => ({ store: { ...memoryStore(), ...parts } });
const set = (domainPrefix: string) => ({ domainPrefix }) as unknown as TokenSet;
const tokensOf = (name: string) => (pos: RetailPos) => pos.tokens(name).token();
const fleet = async (pos: RetailPos): Promise<RetailerStatus[]> => {
  const found: RetailerStatus[] = [];
  for await (const retailer of pos.retailers()) found.push(retailer);
  return found;
};

/** A login that the store of another application took before. */
async function foreign(): Promise<Partial<RetailPosOptions>> {
  const store = memoryStore();
  await start({ store, clientId: "another" }).login();
  return { store };
}

interface Case {
  readonly asked: string;
  readonly ask: (pos: RetailPos) => unknown;
  readonly code: string;
  /** The events that carry this very error. */
  readonly told: string[];
  readonly options?: () => Partial<RetailPosOptions> | Promise<Partial<RetailPosOptions>>;
  /** What the service answers; else what it always does. */
  readonly answer?: () => Response;
  /** The retailer has logged in, and its token has expired. */
  readonly isExpired?: boolean;
  /** No retailer is known. */
  readonly isNobody?: boolean;
}

const bad = { code: "invalid_domain_prefix", isNobody: true };
const cases: Case[] = [
  { ...bad, asked: "tokens of a bad prefix", ask: (pos) => pos.tokens("no label!"), told: ["caller_failed"] },
  { ...bad, asked: "a client of a bad prefix", ask: (pos) => pos.retailer("a.b"), told: ["caller_failed"] },
  { ...bad, asked: "status of a bad prefix", ask: (pos) => pos.status("a.b"), told: ["caller_failed"] },
  { ...bad, asked: "disconnect of a bad prefix", ask: (pos) => pos.disconnect(""), told: ["caller_failed"] },
  {
    ...bad,
    asked: "connect of a bad prefix",
    ask: (pos) => pos.connect(set("a/b")),
    told: ["caller_failed"],
  },
  {
    ...bad,
    asked: "exchange for a bad prefix",
    ask: (pos) => pos.exchange("a b", "c"),
    told: ["exchange_failed"],
  },
  { asked: "a token of nobody", ask: tokensOf("nobody"), code: "not_connected", told: ["caller_failed"] },
  ...["load", "save", "remove"].map((operation) => ({
    asked: `what needs ${operation} of a store that is away`,
    ask: (pos: RetailPos) =>
      operation === "load"
        ? pos.status("shop")
        : operation === "save"
          ? pos.exchange("shop", "code").then(pos.connect)
          : pos.disconnect("shop"),
    options: () => withStore({ [operation]: away }),
    code: "store_failed",
    told: ["store_failed"],
  })),
  {
    asked: "a token while the store is away",
    ask: tokensOf("shop"),
    options: () => withStore({ load: away }),
    code: "store_failed",
    told: ["store_failed", "caller_failed"],
  },
  {
    asked: "a renewal while the lock is away",
    ask: tokensOf("shop"),
    options: () => ({ lock: failingFrom(3) }),
    isExpired: true,
    code: "store_failed",
    told: ["store_failed", "caller_failed"],
  },
  {
    asked: "a login while the lock is away",
    ask: (pos) => pos.exchange("shop", "code"),
    options: () => ({ lock: away }),
    code: "store_failed",
    told: ["store_failed", "exchange_failed"],
  },
  {
    asked: "a login whose acceptRetailer meets a failure that was told",
    ask: (pos) => pos.exchange("shop", "code"),
    options: () => ({ acceptRetailer: () => Promise.reject(new StoreFailedError("load", "away")) }),
    code: "store_failed",
    told: ["exchange_failed"],
  },
  {
    asked: "a token whose record no key opens",
    ask: tokensOf("shop"),
    options: () => withStore({ load: unusable }),
    code: "bad_stored_tokens",
    told: ["caller_failed"],
  },
  {
    asked: "the status of a record that no key opens",
    ask: (pos) => pos.status("shop"),
    options: () => withStore({ load: unusable }),
    code: "bad_stored_tokens",
    told: ["caller_failed"],
  },
  {
    asked: "connect over another application's record",
    ask: (pos) => pos.exchange("shop", "code").then(pos.connect),
    options: foreign,
    code: "bad_stored_tokens",
    told: ["caller_failed"],
  },
  ...[away, unusable].flatMap((list) =>
    [fleet, (pos: RetailPos) => pos.renewDue()].map((ask) => ({
      asked: "the fleet of a store that cannot list",
      ask,
      options: () => withStore({ list }),
      code: "store_failed",
      told: ["store_failed"],
      isNobody: true,
    })),
  ),
  {
    asked: "a claim that the store cannot keep",
    ask: (pos) => pos.claim("key", 1000),
    options: () => withStore({ claim: unusable }),
    code: "store_failed",
    told: ["store_failed"],
    isNobody: true,
  },
  {
    asked: "a login that is not accepted",
    ask: (pos) => pos.exchange("shop", "code"),
    options: () => ({ acceptRetailer: () => false }),
    code: "retailer_not_accepted",
    told: ["exchange_failed"],
  },
  {
    asked: "a code that is refused",
    ask: (pos) => pos.exchange("shop", "code"),
    answer: () => oauthError("invalid_grant"),
    code: "token_endpoint_failed",
    told: ["token_request", "exchange_failed"],
  },
  {
    asked: "a login without a refresh token",
    ask: (pos) => pos.exchange("shop", "code"),
    answer: () => json({ access_token: "only", expires_in: 60 }),
    code: "bad_token_response",
    told: ["exchange_failed"],
  },
  {
    asked: "a renewal that meets a 500",
    ask: tokensOf("shop"),
    isExpired: true,
    answer: () => json({}, 500),
    code: "token_endpoint_failed",
    told: ["token_request", "renewal_failed", "caller_failed"],
  },
  {
    asked: "a renewal with a wrong client secret",
    ask: tokensOf("shop"),
    isExpired: true,
    answer: () => oauthError("invalid_client", 401),
    code: "client_refused",
    told: ["token_request", "renewal_failed", "caller_failed"],
  },
  {
    asked: "a renewal that meets a 429",
    ask: tokensOf("shop"),
    isExpired: true,
    answer: () => json({}, 429),
    code: "rate_limited",
    told: ["token_request", "caller_failed"],
  },
  {
    asked: "a renewal whose refresh token is refused",
    ask: tokensOf("shop"),
    isExpired: true,
    answer: () => oauthError("invalid_grant"),
    code: "reconnect_required",
    told: ["token_request", "caller_failed"],
  },
];

/** A lock that can be taken until the given time. */
function failingFrom(time: number): Lock {
  let taken = 0;
  return (_, work) => {
    taken += 1;
    return taken < time - 1 ? work() : away();
  };
}

describe("whatever error a caller sees was observed, each event once:", () => {
  test.each(cases)("$asked", async ({ ask, options, answer, isExpired, code, told, isNobody }) => {
    const { pos, service, events, counts, login, time } = start(await options?.());
    if (isExpired) {
      await login();
      time.now = T0 + 2 * DAY_MS;
    }
    if (answer) service.next(answer);
    const error = await failureOf((async () => ask(pos))());
    expect(error).toMatchObject({ code });
    await settled();
    const about = [...events, ...counts].filter((event) => "error" in event && event.error === error);
    expect(about.map(({ type }) => type).sort()).toEqual([...told].sort());
    const [first] = about;
    expect(first?.domainPrefix === undefined).toBe(isNobody === true);
  });

  test("each caller of one renewal that fails is told of on its own, and the renewal once", async () => {
    const { login, shop, service, time, events, counts } = start();
    await login();
    time.now = T0 + 2 * DAY_MS;
    service.next(() => json({}, 500));
    await Promise.allSettled(Array.from({ length: 20 }, () => shop.token()));
    expect(counts.filter(({ type }) => type === "caller_failed")).toHaveLength(20);
    expect(events.map(({ type }) => type)).toEqual(["connected", "renewal_failed"]);
  });

  test("an abort and a mistake of the program's are not told", async () => {
    const { pos, events, counts, shop } = start();
    const reason = new NotConnectedError(); // of all errors, one of ours
    await failureOf(shop.token({ signal: AbortSignal.abort(reason) }));
    await failureOf(
      (async () =>
        pos
          .retailers({ signal: AbortSignal.abort(reason) })
          [Symbol.asyncIterator]()
          .next())(),
    );
    await failureOf(pos.exchange("shop", ""));
    await failureOf(pos.connect(set("shop")));
    await failureOf(pos.claim("", 1));
    await failureOf(pos.renewDue({ concurrency: 0 }));
    expect([...events, ...counts]).toEqual([]);
  });
});

describe("an observer runs in the async context of the caller who caused the event", () => {
  const context = new AsyncLocalStorage<string>();
  type Told = [caller: string | undefined, type: RetailPosEvent["type"]];
  const as = <T>(caller: string, ask: () => Promise<T>) => context.run(caller, ask);

  function observed(options: Partial<RetailPosOptions> = {}) {
    const told: Told[] = [];
    const observe = ({ type }: RetailPosEvent) => void told.push([context.getStore(), type]);
    return { ...start({ ...options, observe }, fakeService({ lifetimeSeconds: 1000 })), told };
  }

  test("of several who wait for one renewal it is the first's", async () => {
    const { login, shop, time, told } = observed();
    await as("login", login);
    time.now += DAY_MS;
    await Promise.all(["first", "second"].map((caller) => as(caller, () => shop.token())));
    expect(told).toEqual([
      ["login", "token_request"],
      ["login", "connected"],
      ["first", "token_request"],
      ["first", "renewed"],
    ]);
  });

  test("a renewal in the background belongs to the caller who was served meanwhile", async () => {
    const { login, shop, time, told } = observed();
    await as("login", login);
    time.now += 950_000; // within the last tenth
    await as("first", async () => shop.token());
    await settled();
    expect(told.slice(2)).toEqual([
      ["first", "token_request"],
      ["first", "renewed"],
    ]);
  });

  test("each caller who fails is told in a context of its own", async () => {
    const { told, pos } = observed();
    const ask = (name: string) => as(name, () => failureOf(pos.tokens(name).token()));
    await Promise.all(["one", "two"].map(ask));
    expect(told).toEqual([
      ["one", "caller_failed"],
      ["two", "caller_failed"],
    ]);
  });

  test("also with a lock that starts each work from the end of the one before", async () => {
    const { login, pos, time, told } = observed({ lock: queue() });
    for (const name of ["one", "two", "three"]) await as("login", () => login(name));
    time.now += DAY_MS;
    told.length = 0;
    await Promise.all(["one", "two", "three"].map((name) => as(name, () => pos.tokens(name).token())));
    expect(told.filter(([, type]) => type === "token_request").map(([caller]) => caller)).toEqual([
      "one",
      "two",
      "three",
    ]);
  });

  /** One work at a time, whatever its key; as a queue of callbacks does it, which knows nothing of contexts. */
  function queue(): Lock {
    const waiting: (() => void)[] = [];
    let isBusy = false;
    return <T>(_: string, work: () => Promise<T>) =>
      new Promise<T>((resolve, reject) => {
        const begin = () => {
          isBusy = true;
          const over = () => {
            isBusy = false;
            waiting.shift()?.();
          };
          work().then(resolve, reject).then(over);
        };
        if (isBusy) waiting.push(begin);
        else begin();
      });
  }
});
