import { setTimeout as sleep } from "node:timers/promises";
import { StoreFailedError, type TokenSet } from "@retail-pos/core";
import { type Ask, textOf } from "./driver.js";
import type { Keys } from "./schema.js";

/** Less than five seconds: core counts a longer silence as a failure. Replicas report once a second. */
const WITHIN_MS = 3_000;
const LOOK_AGAIN_AFTER_MS = 50;

/**
 * Waits until so many replicas have a set that was saved. `WAIT` would not do: it counts only writes of its own
 * connection, and after a failover the client has a new one, on a server that may never have got the set.
 *
 * @returns the function that waits. It rejects with `StoreFailedError` if too few replicas get the set, or if another
 * set is in its place.
 */
export function replicasOn(ask: Ask, keys: Keys, replicas: number): (saved: TokenSet) => Promise<void> {
  return async ({ domainPrefix, version }) => {
    const task = { operation: "save", domainPrefix } as const;
    const giveUpAt = performance.now() + WITHIN_MS;
    let since = { history: "", offset: Number.POSITIVE_INFINITY };
    for (;;) {
      const reply = (await ask(task, LOOK, keys.tokens(domainPrefix))) as unknown[];
      const [stored, replication] = reply.map(textOf) as [string, string];
      if (stored !== version) throw failed(domainPrefix, "another set is in its place");
      const now = stateOf(replication);
      if (now.history !== since.history) since = now;
      const count = now.replicas.filter((offset) => offset >= since.offset).length;
      if (count >= replicas) return;
      if (performance.now() >= giveUpAt)
        throw failed(domainPrefix, `only ${count} of ${replicas} replicas have them`);
      await sleep(LOOK_AGAIN_AFTER_MS);
    }
  };
}

/** The server's own words: `slave0:ip=...,state=online,offset=123,lag=0`. */
function stateOf(replication: string): { history: string; offset: number; replicas: number[] } {
  const fieldOf = (name: string) => new RegExp(`^${name}:(\\S+)`, "m").exec(replication)?.[1] ?? "";
  const replicas = replication.matchAll(/^slave\d+:.*state=online,offset=(\d+)/gm);
  return {
    history: fieldOf("master_replid"),
    offset: Number(fieldOf("master_repl_offset")),
    replicas: Array.from(replicas, ([, offset]) => Number(offset)),
  };
}

function failed(domainPrefix: string, why: string): StoreFailedError {
  const problem = `Redis could not save the tokens of retailer "${domainPrefix}" safely: ${why}`;
  return new StoreFailedError("save", problem, { domainPrefix });
}

const LOOK = `
return { redis.pcall('HGET', KEYS[1], 'version') or '', redis.call('INFO', 'replication') }`;
