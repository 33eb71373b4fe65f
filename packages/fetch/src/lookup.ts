import dns, { type LookupAddress } from "node:dns";
import type { LookupFunction } from "node:net";

/** By then core has given up the exchange: it waits so long by default. */
const GIVEN_UP_MS = 10_000;

/** The name of this machine, and its children, perhaps with the dot of the root. */
const LOCALHOST = /(^|\.)localhost\.?$/i;

interface Lookup {
  readonly since: number;
  begin(): void;
  giveUp(): void;
}

const waiting: Lookup[] = [];
let isUnderWay = false;

/** Answers that say that a name, or its addresses of one family, are not there. */
const NOT_THERE = ["ENODATA", "ENOTFOUND"];

/**
 * Looks up one name at a time: the hosts of exchanges. A stranger's callbacks name retailers that do not exist. Node
 * looks up two names at a time (by default: half of its threads), also those of calls that have ended, and renewals
 * would wait behind them.
 *
 * So that logins do not wait behind them either, a name that has to wait is asked for in DNS as well, and leaves the
 * line if it is there. Names that only the machine knows (`/etc/hosts`) stay in line. So does what names this machine
 * (RFC 6761, 6.3): whoever answers for DNS could name another one.
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
  if (waiting.includes(lookup) && !LOCALHOST.test(host)) void leaveIfKnown();

  async function leaveIfKnown(): Promise<void> {
    const addresses = await addressesInDns(host);
    const [first] = addresses;
    const place = waiting.indexOf(lookup);
    if (!first || place < 0) return;
    waiting.splice(place, 1);
    if (options.all) done(null, addresses);
    else done(null, first.address, first.family);
  }
};

/**
 * None if DNS does not know the name, or does not answer: with IPv6 only, a machine with IPv4 only would reach nothing.
 * This asks the network only, and needs none of the threads of `dns.lookup`. Each name has a resolver of its own,
 * because a shared one waits for an answer only a little longer than it waited for the last ones.
 */
async function addressesInDns(host: string): Promise<LookupAddress[]> {
  const resolver = new dns.promises.Resolver({ timeout: 2000, tries: 1 });
  const [v4, v6] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
  if (v4.status === "rejected" && !NOT_THERE.includes(v4.reason.code)) return [];
  return [
    ...(v4.status === "fulfilled" ? v4.value.map((address) => ({ address, family: 4 })) : []),
    ...(v6.status === "fulfilled" ? v6.value.map((address) => ({ address, family: 6 })) : []),
  ];
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
