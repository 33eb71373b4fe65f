import dns from "node:dns";
import type { LookupFunction } from "node:net";

/** By then core has given up the exchange: it waits so long by default. */
const GIVEN_UP_MS = 10_000;

const waiting: { since: number; begin: () => void; giveUp: () => void }[] = [];
let isUnderWay = false;

/**
 * Looks up one name at a time: the hosts of exchanges. A stranger's callbacks name retailers that do not exist. Node
 * looks up two names at a time (by default: half of its threads), also those of calls that have ended, and renewals
 * would wait behind them.
 */
export const oneAtATime: LookupFunction = (host, options, done) => {
  const answer: typeof done = (...answered) => {
    isUnderWay = false;
    done(...answered);
    next();
  };
  waiting.push({
    since: performance.now(),
    begin() {
      try {
        dns.lookup(host, options, answer);
      } catch (error) {
        answer(error as Error, "");
      }
    },
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
