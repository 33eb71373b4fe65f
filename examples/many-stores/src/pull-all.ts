import { setTimeout as wait } from "node:timers/promises";
import type { RetailPos } from "@retail-pos/core";
import type { Memberships } from "./memberships.js";
import { isFatal, type Outcome, outcomeOf } from "./pull-outcome.js";
import type { Records } from "./records.js";
import { readName, readProducts } from "./store-api.js";

export interface PullAllOptions {
  client: Pick<RetailPos, "renewDue" | "retailer" | "retailers">;
  records: Records;
  memberships: Memberships;
  /** From how many stores at a time. */
  storesAtOnce: number;
  /** Ends the run: what is under way is dropped, but for a renewal, which is saved. */
  signal: AbortSignal;
  /** How long a store that is rate limited may have the run wait for it; default half an hour. */
  longestWaitMs?: number;
}

/** What became of the stores. */
export interface Report {
  /** Somebody has them. */
  readonly stores: number;
  readonly pulled: number;
  readonly products: number;
  /** Their people have to log in again, and are told so on their pages. */
  readonly loginNeeded: number;
  /** Their tokens cannot be read: look at the key that seals them before anybody logs in again. */
  readonly unreadable: number;
  /** To be tried again tomorrow. */
  readonly failed: number;
  /** Nobody had them any more: their tokens were forgotten. */
  readonly swept: number;
  /** Whether the signal ended the run before its end. */
  readonly isStopped: boolean;
}

/** A token that ends within the hour is renewed before it is needed. */
const RENEW_WITHIN_MS = 3_600_000;
const LONGEST_WAIT_MS = 30 * 60_000;
/** A store that is limited so often in one run has to wait for the next. */
const MOST_TURNS = 5;

/** What is noted of a store that was not pulled, where it is counted, and how the log says it. */
const CONSEQUENCES = {
  "login needed": ["log_in_again", "loginNeeded", "has to log in again"],
  unreadable: ["log_in_again", "unreadable", "its tokens cannot be read"],
  limited: ["tomorrow", "failed", "tomorrow"],
  failed: ["tomorrow", "failed", "tomorrow"],
} as const;

interface Turn {
  readonly domainPrefix: string;
  /** Not before, epoch milliseconds. */
  readonly at: number;
  /** How many there were before. */
  readonly count: number;
}

/**
 * Goes through all stores and pulls their products. What fails at one store stops no other.
 *
 * @throws what stops all of them: our database, or a client secret that the service refuses.
 */
export async function pullAll(options: PullAllOptions): Promise<Report> {
  const { client, records, memberships, storesAtOnce, longestWaitMs = LONGEST_WAIT_MS } = options;
  const failing = new AbortController();
  const signal = AbortSignal.any([options.signal, failing.signal]);
  const counts = { stores: 0, pulled: 0, products: 0, loginNeeded: 0, unreadable: 0, failed: 0, swept: 0 };

  await records.forgetEnded(Date.now());
  await client.renewDue({ withinMs: RENEW_WITHIN_MS, concurrency: storesAtOnce, signal });
  const domainPrefixes = await records.allStores();
  counts.stores = domainPrefixes.length;
  const turns: Turn[] = domainPrefixes.map((domainPrefix) => ({ domainPrefix, at: 0, count: 0 }));
  const lastTurnAt = Date.now() + longestWaitMs;

  const ends = await Promise.allSettled(Array.from({ length: storesAtOnce }, work));
  const failure = ends.find((end) => end.status === "rejected");
  if (failure) throw failure.reason;
  if (!signal.aborted) await sweep();
  return { ...counts, isStopped: signal.aborted };

  /** One of several that take the next turn when they are done with theirs. */
  async function work(): Promise<void> {
    for (let turn = turns.shift(); turn && !signal.aborted; turn = turns.shift()) {
      try {
        await untilTurn(turn, signal);
        if (!signal.aborted) await take(turn);
      } catch (error) {
        failing.abort(); // the others need not begin what will fail as well
        throw error;
      }
    }
  }

  async function take(turn: Turn): Promise<void> {
    const { domainPrefix } = turn;
    const outcome = await pull(domainPrefix);
    if (signal.aborted && outcome.kind !== "pulled") return; // its own end is no failure of the store's
    if (outcome.kind === "limited" && outcome.retryAt <= lastTurnAt && turn.count + 1 < MOST_TURNS) {
      console.warn(
        `${domainPrefix}: once more at ${new Date(outcome.retryAt).toISOString()}, ${outcome.why}`,
      );
      turns.push({ domainPrefix, at: outcome.retryAt, count: turn.count + 1 });
      turns.sort((one, other) => one.at - other.at);
      return;
    }
    await note(domainPrefix, outcome);
  }

  async function pull(domainPrefix: string): Promise<Outcome> {
    try {
      const retailer = client.retailer(domainPrefix);
      const products = await readProducts(retailer, signal);
      return { kind: "pulled", products, name: await readName(retailer, signal) };
    } catch (error) {
      if (isFatal(error)) throw error;
      return outcomeOf(error);
    }
  }

  /** Whoever disconnected the store meanwhile gets nothing of it back. */
  async function note(domainPrefix: string, outcome: Outcome): Promise<void> {
    await memberships.whileConnected(domainPrefix, async () => {
      if (outcome.kind === "pulled") {
        await records.savePull(domainPrefix, outcome.products, Date.now());
        if (outcome.name !== undefined) await records.nameStore(domainPrefix, outcome.name);
        counts.pulled += 1;
        counts.products += outcome.products.length;
        return;
      }
      const [problem, count, words] = CONSEQUENCES[outcome.kind];
      await records.notePullFailed(domainPrefix, problem);
      counts[count] += 1;
      console.warn(`${domainPrefix}: ${words}, ${outcome.why}`);
    });
  }

  /** Tokens that nobody can use, because the last one left while the store was being connected in another tab. */
  async function sweep(): Promise<void> {
    for await (const { domainPrefix } of client.retailers({ signal: options.signal })) {
      if ((await records.countMembers(domainPrefix)) > 0) continue;
      if (await memberships.sweep(domainPrefix)) counts.swept += 1;
    }
  }
}

async function untilTurn({ at }: Turn, signal: AbortSignal): Promise<void> {
  const waitMs = at - Date.now();
  if (waitMs <= 0) return;
  await wait(waitMs, undefined, { signal }).catch(() => {}); // stopped: whoever asks next sees it
}

/** One line, for whoever looks in the morning. */
export function inWords(report: Report): string {
  const { stores, pulled, products, loginNeeded, unreadable, failed, swept, isStopped } = report;
  const parts = [
    `${pulled} of ${stores} stores pulled with ${products} products`,
    `${loginNeeded} have to log in again`,
    ...(unreadable > 0 ? [`${unreadable} with tokens that cannot be read`] : []),
    `${failed} tomorrow`,
    ...(swept > 0 ? [`${swept} forgotten that nobody had`] : []),
    ...(isStopped ? ["stopped before the end"] : []),
  ];
  return `Nightly run: ${parts.join(", ")}.`;
}
