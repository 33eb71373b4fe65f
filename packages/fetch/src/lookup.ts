import dns from "node:dns";
import type { LookupFunction } from "node:net";

/** By then core has given up the exchange: it waits so long by default. */
const GIVEN_UP_MS = 10_000;

interface Lookup {
  readonly since: number;
  begin(): void;
  giveUp(): void;
}

const waiting: Lookup[] = [];
let isUnderWay = false;

/** Asks the network only, and none of the threads that `dns.lookup` needs. */
const resolver = new dns.promises.Resolver({ timeout: 2000, tries: 1 });

/**
 * Looks up one name at a time: the hosts of exchanges. A stranger's callbacks name retailers that do not exist. Node
 * looks up two names at a time (by default: half of its threads), also those of calls that have ended, and renewals
 * would wait behind them. Names that DNS knows need not wait behind names that it does not know.
 */
export const oneAtATime: LookupFunction = (host, options, done) => {
  const answer: typeof done = (...answered) => {
    isUnderWay = false;
    done(...answered);
    next();
  };
  const lookup: Lookup = {
    since: performance.now(),
    begin() {
      try {
        dns.lookup(host, options, answer);
      } catch (error) {
        answer(error as Error, "");
      }
    },
    giveUp: () => done(new Error(`The address of ${host} was not looked up in time`), ""),
  };
  waiting.push(lookup);
  next();
  if (waiting.includes(lookup)) void putFirstIfKnown(host, lookup);
};

async function putFirstIfKnown(host: string, lookup: Lookup): Promise<void> {
  const addresses = [resolver.resolve4(host), resolver.resolve6(host)];
  const isKnown = await Promise.any(addresses).then(
    () => true,
    () => false,
  );
  const place = waiting.indexOf(lookup);
  if (isKnown && place > 0) waiting.unshift(...waiting.splice(place, 1));
}

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
