// One of the processes: its callers ask for the token of one retailer after the other, about once a second each.
import { setTimeout as sleep } from "node:timers/promises";
import { retailPos } from "@retail-pos/core";
import { APPLICATION, tokenServiceAt } from "../../lib/service.mjs";
import { engines } from "../growth/populations.mjs";
import { obeying } from "../growth/standing-process.mjs";

const A_SECOND_MS = 1000;
/**
 * Fifty processes take turns on a few cores, so one may be stopped between core's look at the clock and its caller's.
 * That was 95 ms at most in a run which noted both. Bearers that ended so shortly before are counted by themselves too.
 */
const STOPPED_MS = 250;
/** So many bearers are asked about at once. */
const AT_ONCE = 1000;

let service;
let shared;
let pos;
let retailers;
/** The token requests of this process, and when each was begun. */
const begun = [];

obeying({
  async open({ engine, name, address, retailers: all }) {
    retailers = all;
    service = tokenServiceAt(address);
    shared = await engines[engine](name, { max: 1 });
    const { store, lock } = shared.tokens;
    pos = retailPos({ ...APPLICATION, authUrl: address, baseUrl: service.baseUrl, store, lock, observe });
  },
  async call({ callers, forMs }) {
    const until = Date.now() + forMs;
    const before = statements();
    /** Of each bearer, for whom it was and when it was handed out last. */
    const handedOut = new Map();
    const count = { calls: 0, failed: 0, why: {} };
    await Promise.all(Array.from({ length: callers }, () => caller(until, handedOut, count)));
    return { ...count, begun, statements: statements() - before, ...(await wrongOnes(handedOut)) };
  },
  close: async () => shared?.close(),
});

function observe({ type, domainPrefix, startedAt }) {
  if (type === "token_request") begun.push({ retailer: domainPrefix, at: startedAt });
}

async function caller(until, handedOut, count) {
  while (Date.now() < until) {
    await sleep(Math.random() * 2 * A_SECOND_MS);
    const retailer = retailers[Math.floor(Math.random() * retailers.length)];
    count.calls += 1;
    try {
      const { value } = await pos.tokens(retailer).token();
      handedOut.set(value, { retailer, at: Date.now() });
    } catch ({ code, name }) {
      count.failed += 1;
      count.why[code ?? name] = (count.why[code ?? name] ?? 0) + 1;
    }
  }
}

/**
 * `expired`: how many of them had ended when they were handed out, or were issued to somebody else or nobody.
 * `justEnded`: how many of these were the right ones, and had ended no more than `STOPPED_MS` before.
 */
async function wrongOnes(handedOut) {
  const all = [...handedOut];
  const count = { expired: 0, justEnded: 0 };
  for (let from = 0; from < all.length; from += AT_ONCE) {
    const some = all.slice(from, from + AT_ONCE);
    const known = await service.issued(some.map(([value]) => value));
    for (const [index, [, { retailer, at }]] of some.entries()) {
      const { retailer: owner, expiresAt } = known[index] ?? {};
      if (owner === retailer && at <= expiresAt) continue;
      count.expired += 1;
      if (owner === retailer && at <= expiresAt + STOPPED_MS) count.justEnded += 1;
    }
  }
  return count;
}

function statements() {
  return Object.values(shared.asked).reduce((sum, count) => sum + count, 0);
}
