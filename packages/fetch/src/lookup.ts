import dns, { type LookupAddress } from "node:dns";
import type { LookupFunction } from "node:net";

/** By then core has given up the exchange: it waits so long by default. */
const GIVEN_UP_MS = 10_000;

/** So many names that DNS does not know stay in line; beyond it the oldest leave. */
const MOST_ABSENT = 20;

/** The name of this machine, and its children, perhaps with the dot of the root. */
const LOCALHOST = /(^|\.)localhost\.?$/i;

interface Lookup {
  readonly since: number;
  /** DNS says that there is no such name. */
  isAbsent: boolean;
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
 * line if it is there. Names that only the machine knows (`/etc/hosts`) stay in line; so does what names this machine
 * (RFC 6761, 6.3), because whoever answers for DNS could name another one. Of the names that DNS does not know, at most
 * twenty stay: strangers make up any number.
 */
export const oneAtATime: LookupFunction = (host, options, done) => {
  const answer: typeof done = (...answered) => {
    isUnderWay = false;
    done(...answered);
    next();
  };
  const lookup: Lookup = {
    since: performance.now(),
    isAbsent: false,
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
    const [first] = addresses ?? [];
    if (addresses && !first) absent(lookup);
    if (!addresses || !first || !leave(lookup)) return;
    if (options.all) done(null, addresses);
    else done(null, first.address, first.family);
  }
};

/** @returns whether it was in line. */
function leave(lookup: Lookup): boolean {
  const place = waiting.indexOf(lookup);
  if (place >= 0) waiting.splice(place, 1);
  return place >= 0;
}

function absent(lookup: Lookup): void {
  lookup.isAbsent = true;
  const [oldest, ...others] = waiting.filter(({ isAbsent }) => isAbsent);
  if (oldest && others.length >= MOST_ABSENT && leave(oldest)) oldest.giveUp();
}

/**
 * Empty if DNS says that there is no such name; `undefined` if it does not answer: with IPv6 only, a machine with IPv4
 * only would reach nothing. This asks the network only, and needs none of the threads of `dns.lookup`. Each name has a
 * resolver of its own, because a shared one waits for an answer only a little longer than it waited for the last ones.
 */
async function addressesInDns(host: string): Promise<LookupAddress[] | undefined> {
  const resolver = new dns.promises.Resolver({ timeout: 2000, tries: 1 });
  const [v4, v6] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
  if (v4.status === "rejected" && !NOT_THERE.includes(v4.reason.code)) return undefined;
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
