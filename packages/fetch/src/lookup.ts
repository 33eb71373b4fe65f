import { AsyncLocalStorage } from "node:async_hooks";
import dns from "node:dns";
import type { LookupFunction } from "node:net";

/** By then core has given up the exchange: it waits so long by default. */
const GIVEN_UP_MS = 10_000;

/** Whether what opens a connection is an exchange (4.2). */
export const forExchange: AsyncLocalStorage<boolean> = new AsyncLocalStorage();

const waiting: { since: number; begin: () => void; giveUp: () => void }[] = [];
let isUnderWay = false;

/**
 * Looks up the hosts of exchanges one at a time, and all others at once. A stranger's callbacks name retailers that do
 * not exist. Node looks up two names at a time (by default: half of its threads), also those of calls that have ended,
 * and renewals would wait behind them.
 */
export const lookup: LookupFunction = (host, options, done) => {
  if (!forExchange.getStore()) return dns.lookup(host, options, done);
  waiting.push({
    since: performance.now(),
    begin: () =>
      dns.lookup(host, options, (...answer) => {
        isUnderWay = false;
        next();
        done(...answer);
      }),
    giveUp: () => done(new Error(`The address of ${host} was not looked up in time`), ""),
  });
  next();
};

function next(): void {
  while (!isUnderWay) {
    const first = waiting.shift();
    if (!first) return;
    if (performance.now() - first.since > GIVEN_UP_MS) first.giveUp();
    else {
      isUnderWay = true;
      first.begin();
    }
  }
}
