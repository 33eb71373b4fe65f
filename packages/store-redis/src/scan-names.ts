import { randomUUID } from "node:crypto";
import { StoreFailedError } from "@retail-pos/core";
import { type Ask, isYes, textOf } from "./driver.js";
import type { Keys } from "./schema.js";
import { keyInSlot, SLOTS } from "./slots.js";

/** How far the names have been gathered. It goes into a cursor. */
export interface Gathering {
  /** Random. It names the set in which this listing gathers. */
  readonly id: string;
  /** Names up to this one have been on a page. */
  readonly after: string;
  /** The first slot that has not been scanned; without a cluster, all keys count as in the slots from 0. */
  readonly slot: number;
  /** The last slot that the node has had all the time. */
  readonly lastSlot: number;
  /** The node's own cursor. */
  readonly scan: string;
  /** The node's run id: after a restart the node does not know the cursor. */
  readonly run: string;
}

/** All names are gathered. */
export interface Gathered {
  readonly id: string;
  readonly after: string;
  /** Whether the keys of two retailers may be on two nodes. */
  readonly isSpread: boolean;
}

/** How much work one page may do. */
export interface Pace {
  /** About how many keys of the server one step looks at. */
  readonly keysAStep: number;
  /** At most this many steps for one page. If there is more to gather, the page is empty and the next one goes on. */
  readonly mostSteps: number;
}

/** How long gathered names are kept; a listing that comes back later gathers them again. */
export const NAMES_KEPT_MS = 600_000;
const TASK = { operation: "list" } as const;

/** @param after names up to this one have been on a page. */
export function gathering(after: string): Gathering {
  return { id: randomUUID(), after, slot: 0, lastSlot: SLOTS - 1, scan: "0", run: "" };
}

/** Goes on gathering, with a limited number of steps: all keys of one node, then those of the next. */
export function gathererOn(
  ask: Ask,
  keys: Keys,
  { keysAStep, mostSteps }: Pace,
): (from: Gathering) => Promise<Gathering | Gathered> {
  return async (from) => {
    let stands: Gathering | Gathered = from;
    for (let step = 0; step < mostSteps && "scan" in stands; step += 1) stands = await stepFrom(stands);
    return stands;
  };

  async function stepFrom(stands: Gathering): Promise<Gathering | Gathered> {
    const { id, after, slot, scan } = stands;
    const found = await scanFrom(stands);
    const nodeEnds = lastSlotOf(found.node, slot);
    const isKept = await keep(stands, found.names);
    if (!isKept) return gathering(after);
    if (scan !== "0" && found.run !== stands.run)
      return { ...stands, scan: "0", run: found.run, lastSlot: nodeEnds };
    const lastSlot = Math.min(stands.lastSlot, nodeEnds);
    if (found.next !== "0") return { ...stands, scan: found.next, run: found.run, lastSlot };
    if (lastSlot === SLOTS - 1) return { id, after, isSpread: found.node !== "" };
    return { ...stands, slot: lastSlot + 1, lastSlot: SLOTS - 1, scan: "0", run: "" };
  }

  async function scanFrom({ slot, scan, after }: Gathering) {
    const routing = keyInSlot(slot, keys.prefix);
    const values = [scan, String(keysAStep), String(routing.length)];
    const reply = (await ask(TASK, SCAN, keys.prefix + routing, values)) as unknown[];
    const [next, run, node] = reply.slice(0, 3).map(textOf) as [string, string, string];
    const names = (reply[3] as unknown[]).map(textOf).filter((name) => isName(name) && name > after);
    return { next, run, node, names };
  }

  /** False if the names that were gathered before are gone. */
  async function keep({ id, slot, scan }: Gathering, names: readonly string[]): Promise<boolean> {
    const mode = slot === 0 && scan === "0" ? "first" : "more";
    const scored = names.flatMap((name) => ["0", name]);
    return isYes(await ask(TASK, KEEP, keys.names(id), [mode, String(NAMES_KEPT_MS), ...scored]));
  }
}

/** Other keys may match too: those of a longer prefix do. */
function isName(name: string): boolean {
  return /^[a-z0-9-]{1,63}$/.test(name);
}

/**
 * The last of the slots that this node has from the given one on. The very last slot without a cluster, and if a hash
 * tag in the prefix puts all keys on one node.
 *
 * @param node its own line of `CLUSTER NODES`, or nothing.
 */
function lastSlotOf(node: string, slot: number): number {
  const ranges = node.split(" ").slice(8);
  if (ranges.some((range) => range.startsWith("[")))
    throw new StoreFailedError(
      "list",
      "Redis could not list the retailers: slots are being moved to another node; list them when that is done",
    );
  for (const range of ranges) {
    const [first, last = first] = range.split("-").map(Number) as [number, number?];
    if (first <= slot && slot <= last) return last;
  }
  return SLOTS - 1;
}

// A client may put a prefix of its own before all keys. The whole prefix is this key without its own end.
const SCAN = `
local prefix = string.sub(KEYS[1], 1, -ARGV[3] - 1)
local pattern = string.gsub(prefix, '[%*%?%[%]\\\\]', '\\\\%0') .. '{*}:tokens'
local found = redis.call('SCAN', ARGV[1], 'MATCH', pattern, 'COUNT', ARGV[2])
local names = {}
for at, key in ipairs(found[2]) do names[at] = string.sub(key, #prefix + 2, -9) end
local server = redis.call('INFO', 'server')
local node = ''
if string.find(server, 'redis_mode:cluster', 1, true) then
  node = string.match(redis.call('CLUSTER', 'NODES'), '[^\\n]*myself[^\\n]*')
end
return { found[1], string.match(server, 'run_id:(%w+)') or '', node, names }`;

// The empty name is always in the set: Redis would remove an empty set. Lua unpacks 8,000 values at most.
const KEEP = `
if ARGV[1] == 'more' and redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
redis.call('ZADD', KEYS[1], 0, '')
for at = 3, #ARGV, 2000 do
  redis.call('ZADD', KEYS[1], unpack(ARGV, at, math.min(at + 1999, #ARGV)))
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1`;
