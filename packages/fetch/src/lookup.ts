import dns from "node:dns";
import type { LookupFunction } from "node:net";

/** Node looks up four names at a time. Two are left for renewals and calls. */
const AT_ONCE = 2;

/** By then core has given up the exchange: it waits so long by default. */
const GIVEN_UP_MS = 10_000;

/**
 * Looks up the hosts of exchanges, two at a time. A stranger's callbacks name retailers that do not exist. Node would
 * look up four such names at a time, also those of exchanges that have ended, and renewals would wait behind them.
 */
export function fewLookups(): LookupFunction {
  const waiting: { since: number; begin: () => void; giveUp: () => void }[] = [];
  let underWay = 0;

  function next(): void {
    while (underWay < AT_ONCE && waiting.length > 0) {
      const { since, begin, giveUp } = waiting.shift() as (typeof waiting)[number];
      if (performance.now() - since > GIVEN_UP_MS) {
        giveUp();
        continue;
      }
      underWay += 1;
      begin();
    }
  }

  return (host, options, done) => {
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
}
