import { AsyncLocalStorage } from "node:async_hooks";
import dns from "node:dns";
import type { LookupFunction } from "node:net";

/** Node looks up four names at a time. Two are left for renewals and calls. */
const AT_ONCE = 2;

/** By then core has given up the exchange: it waits so long by default. */
const GIVEN_UP_MS = 10_000;

/** Whether what opens a connection is an exchange (4.2). */
export const forExchange: AsyncLocalStorage<boolean> = new AsyncLocalStorage();

const waiting: { since: number; begin: () => void; giveUp: () => void }[] = [];
let underWay = 0;

/**
 * Looks up the hosts of exchanges two at a time, and all others at once. A stranger's callbacks name retailers that do
 * not exist: Node would look up four such names at a time, also those of exchanges that have ended, and renewals would
 * wait behind them.
 */
export const lookup: LookupFunction = (host, options, done) => {
  if (!forExchange.getStore()) return dns.lookup(host, options, done);
  waiting.push({
    since: performance.now(),
    begin: () =>
      dns.lookup(host, options, (...answer) => {
        underWay -= 1;
        next();
        done(...answer);
      }),
    giveUp: () => done(new Error(`The address of ${host} was not looked up in time`), ""),
  });
  next();
};

function next(): void {
  while (underWay < AT_ONCE) {
    const first = waiting.shift();
    if (!first) return;
    if (performance.now() - first.since > GIVEN_UP_MS) first.giveUp();
    else {
      underWay += 1;
      first.begin();
    }
  }
}
