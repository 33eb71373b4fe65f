// Run as `node --expose-gc bounds-scenarios.mjs <scenario>`, on the built packages: does something very often, and
// prints what the heap was before and after, in bytes, with what it counted. A process of its own for each, so that
// nothing else is in its heap.
import { retailPos } from "@retail-pos/core";
import { bearer } from "@retail-pos/express-bearer";
import { RetailPosStrategy } from "passport-retail-pos";

const MINUTE_MS = 61_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;
const T0 = Date.UTC(2030, 0, 1);

let now = T0;
const clock = () => now;
const counts = {};
const count = (what) => {
  counts[what] = (counts[what] ?? 0) + 1;
};

const settings = {
  authUrl: "https://login.example.com",
  baseUrl: "https://{domain_prefix}.example.com",
  clientId: "the-application",
  clientSecret: "the-client-secret",
  redirectUri: "https://app.example.net/callback",
  clock,
};

const scenarios = {
  /** Callbacks that nobody's service sent, to a session with two logins under way. */
  async callbacks(times) {
    const strategy = strategyWith(async () => {
      count("token request");
      return json({ access_token: "access", refresh_token: "refresh", expires_in: 3600 });
    });
    const session = newSession();
    const started = [await answerOf(strategy, start(session)), await answerOf(strategy, start(session))];
    const kept = JSON.stringify(session);

    for (let i = 0; i < 10_000; i += 1) await answerOf(strategy, callback(session, hostile(i))); // compiled by now
    const before = heap();
    for (let i = 0; i < times; i += 1) {
      const { action, info } = await answerOf(strategy, callback(session, hostile(i)));
      count(action === "fail" ? info.code : info.name);
    }
    const after = heap();

    const isUntouched = JSON.stringify(session) === kept;
    const sent = counts["token request"] ?? 0;
    for (const { url } of started) {
      const state = new URL(url).searchParams.get("state");
      await answerOf(strategy, callback(session, { code: "code", domain_prefix: "shop", state })).then(
        ({ action }) => count(`real one: ${action}`),
      );
    }
    return { before, after, sent, isUntouched };
  },

  /** Ten thousand logins that are started in one session and never finished. */
  async pending(times) {
    const strategy = strategyWith(fetch);
    const session = newSession();
    const sizes = new Set();
    for (let i = 0; i < 1_000; i += 1) await answerOf(strategy, start(session));
    const before = heap();
    for (let i = 0; i < times; i += 1) {
      count((await answerOf(strategy, start(session))).action);
      sizes.add(JSON.stringify(session).length);
    }
    return { before, after: heap(), largest: Math.max(...sizes) };
  },

  /** Logins, renewals and every kind of failure, of so many retailers; the store is not in this heap. */
  async retailers(times) {
    const client = retailPos({ ...settings, store: distantStore, lock: distantLock, fetch: service });
    const use = { client, middleware: bearer({ client, retailer: (req) => req.retailer }) };
    await useAll(use, "warm", 2_000);
    now += DAY_MS;
    const before = heap();
    return { before, ...(await inRounds((round, many) => useAll(use, round, many), times)) };
  },

  /** Many callers at once of one retailer, of whom each is served or let down by one flight. */
  async flights(times) {
    const pos = retailPos({ ...settings, store: distantStore, lock: distantLock, fetch: service });
    const round = async (callers, outcome) => {
      now += DAY_MS;
      const retailer = pos.retailer(`${outcome}-flight`);
      const asked = Array.from({ length: callers }, () => retailer.token());
      for (const { status } of await Promise.allSettled(asked)) count(`${outcome}: ${status}`);
    };
    for (const outcome of OUTCOMES) await round(100, outcome);
    const before = heap();
    for (const outcome of OUTCOMES) await round(times, outcome);
    return { before, after: heap() };
  },
};

/** So many retailers, then others, less than half as many, and others again; a minute after each time, what is held. */
async function inRounds(useMany, times) {
  const held = [];
  const later = Math.round(times * 0.4);
  for (const [round, many] of [
    ["one", times],
    ["two", later],
    ["three", later],
  ]) {
    await useMany(round, many);
    now += MINUTE_MS;
    await useMany(`after-${round}`, 100); // sweeping is done beside the work, not by a timer
    held.push(heap());
  }
  return { after: held.at(-1), held };
}

/** What becomes of a retailer is the beginning of its name. */
const OUTCOMES = ["renews", "lives", "fails", "limited", "refused", "garbled", "absent", "unstored"];
const outcomeOf = (i) => {
  const outcome = OUTCOMES[i % OUTCOMES.length];
  // A refusal takes ten times as long as any other.
  return outcome === "refused" && i % 16 > 8 ? "limited" : outcome;
};

/** Each retailer twice, by a call and by the bearer of a request: half of them by the one first, half by the other. */
async function useAll({ client, middleware }, round, times) {
  for (let i = 0; i < times; i += 1) {
    const outcome = outcomeOf(i);
    const domainPrefix = `${outcome}-${round}-${i}`;
    if (outcome === "renews") await client.connect(setOf(domainPrefix));
    const byCall = () =>
      client
        .retailer(domainPrefix)
        .token()
        .then(
          () => count(`${outcome}: token`),
          (error) => count(`${outcome}: token ${error.code ?? error.message}`),
        );
    const byRequest = async () => {
      const req = { headers: {}, retailer: domainPrefix };
      const error = await new Promise((next) => middleware(req, {}, next));
      count(`${outcome}: ${error ? `bearer ${error.code}` : req.retailPos ? "bearer" : "no bearer"}`);
    };
    const isRequestFirst = Math.floor(i / OUTCOMES.length) % 2 === 1;
    for (const use of isRequestFirst ? [byRequest, byCall] : [byCall, byRequest]) await use();
  }
}

/** A store on another machine: it keeps nothing here, and answers from the retailer's name. */
const distantStore = {
  async load(domainPrefix) {
    if (domainPrefix.startsWith("unstored")) throw new Error("no store");
    return domainPrefix.startsWith("absent") ? undefined : setOf(domainPrefix);
  },
  save: async () => true,
  remove: async () => {},
};
const distantLock = (_key, work) => work();

function setOf(domainPrefix) {
  const expiresAt = domainPrefix.startsWith("lives") ? now + HOUR_MS : now - HOUR_MS;
  const access = { value: `access-of-${domainPrefix}`, expiresAt };
  return {
    domainPrefix,
    access,
    refreshToken: `refresh-of-${domainPrefix}`,
    issuedAt: now - DAY_MS,
    version: "1",
  };
}

async function service(url) {
  const [outcome] = new URL(url).hostname.split("-");
  if (outcome === "fails") return json({ error: "server_error" }, 500);
  if (outcome === "limited")
    return json({}, 429, { "x-ratelimit-reset": String((now + MINUTE_MS / 2) / 1000) });
  if (outcome === "refused") return json({ error: "invalid_grant" }, 400);
  if (outcome === "garbled") return answer("<html>");
  return json({ access_token: `new-${url}`, refresh_token: `next-${url}`, expires_in: 3600 });
}

function json(body, status = 200, headers = {}) {
  return answer(JSON.stringify(body), status, headers);
}

/** As much of a Response as is looked at: a whole one for each of a million requests would take most of the time. */
function answer(text, status = 200, headers = {}) {
  return {
    status,
    headers: new Headers(headers),
    body: status === 429 ? null : piecesOf(text),
    redirected: false,
  };
}

async function* piecesOf(text) {
  yield Buffer.from(text);
}

function strategyWith(fetch) {
  const client = retailPos({ ...settings, fetch });
  return new RetailPosStrategy({ client, clock }, ({ domainPrefix }) => ({ domainPrefix }));
}

const LONG = "x".repeat(10_000);
const isLong = (i) => i % 1000 < 10; // one in a hundred: they take most of the time

/** The queries of callbacks that nobody's service sent, each one different. */
const HOSTILE = [
  (_, code, state) => ({ code, domain_prefix: "shop", state }),
  (i, code, state) => ({ code, domain_prefix: "shop", state: isLong(i) ? state + LONG : state.slice(0, 8) }),
  (_, code) => ({ code, domain_prefix: "shop" }),
  (i, code, state) => ({ code, domain_prefix: `evil.example/${i}`, state }),
  (i, code, state) => ({ code, domain_prefix: isLong(i) ? `${LONG}${i}` : `xn--${i}`, state }),
  (_, code, state) => ({ code: [code, code], domain_prefix: "shop", state }),
  (_, code, state) => ({ code, domain_prefix: "shop", state: { [state]: "1" } }),
  (i, _, state) => ({ code: isLong(i) ? `${LONG}${i}` : `code\n${i}`, domain_prefix: "shop", state }),
  (_, __, state) => ({ error: "access_denied", state }),
  (i, _, state) => ({ error: `error-${i}`, error_description: isLong(i) ? `${i}${LONG}` : `${i}`, state }),
];
const hostile = (i) => HOSTILE[i % HOSTILE.length](i, `code-${i}`, `forged-state-${i}`);

function newSession() {
  const session = { id: "session" };
  const methods = { regenerate: (done) => done(), save: (done) => done() };
  for (const [name, value] of Object.entries(methods))
    Object.defineProperty(session, name, { value, writable: true, configurable: true });
  return session;
}

const start = (session) => ({
  method: "GET",
  url: "/login",
  query: {},
  headers: { host: "app.example.net" },
  session,
});

/** Without an address: the query is what a framework has parsed. */
const callback = (session, query) => ({
  method: "GET",
  query,
  headers: { host: "app.example.net", cookie: "session=1" },
  session,
});

/** What the strategy does with a request, as Passport would let it. */
function answerOf(strategy, req) {
  return new Promise((resolve) => {
    const actions = {
      success: (user) => resolve({ action: "success", user }),
      fail: (info) => resolve({ action: "fail", info }),
      redirect: (url) => resolve({ action: "redirect", url }),
      pass: () => resolve({ action: "pass" }),
      error: (info) => resolve({ action: "error", info }),
    };
    Object.assign(Object.create(strategy), actions).authenticate(req, {});
  });
}

/** What is in use when everything that can go is gone. */
function heap() {
  for (let i = 0; i < 4; i += 1) globalThis.gc();
  return process.memoryUsage().heapUsed;
}

Error.stackTraceLimit = 1; // to write stacks down is no part of the question, and half of the time
const [, , scenario, times] = process.argv;
const startedAt = performance.now();
const result = await scenarios[scenario](Number(times));
console.log(
  JSON.stringify({
    ...result,
    counts,
    tookMs: Math.round(performance.now() - startedAt),
  }),
);
