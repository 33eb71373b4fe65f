import { randomUUID } from "node:crypto";
import { type DomainPrefix, type RetailerStatus, StoreFailedError, type TokenStore } from "@retail-pos/core";
import { statusInFlatRecord, storePages } from "@retail-pos/core/authoring";
import { type Ask, isYes, keyInSlot, SLOTS, textOf } from "./driver.js";
import type { Keys } from "./schema.js";

const PACE: Pace = { keysAStep: 1000, mostSteps: 25 };
/** Records that one script reads. It takes a millisecond or two, in which Redis does nothing else. */
const AT_A_TIME = 500;
/** How long gathered names are kept; a listing that comes back later gathers them again. */
const NAMES_KEPT_MS = 600_000;
const TASK = { operation: "list" } as const;

/**
 * Goes through the retailers in the order of their names. Redis has no such order: `SCAN` goes through the keys of a
 * server in an order of its own, shows some twice, and starts over after a restart. So a listing first scans every
 * node, and gathers the names, without duplicates, in a sorted set. If that set is gone it gathers again and goes on
 * behind the last name: each name comes once.
 */
export function createList(ask: Ask, keys: Keys, pace: Pace = PACE): NonNullable<TokenStore["list"]> {
  const pages = storePages(`redis ${keys.prefix}`);
  const gather = createGatherer(ask, keys, pace);
  const cursorAt = (stands: Gathering | Gathered) => pages.cursorAt(JSON.stringify(stands));

  return async (wanted) => {
    const { limit, position } = pages.asked(wanted);
    const from: Gathering | Gathered = position === undefined ? gathering("") : JSON.parse(position);
    const stands = "scan" in from ? await gather(from) : from;
    if ("scan" in stands) return { retailers: [], cursor: cursorAt(stands) };
    const names = await namesOf(stands, limit);
    if (!names) return { retailers: [], cursor: cursorAt(gathering(stands.after)) };
    const retailers = await statusesOf(stands, names);
    if (names.length === limit)
      return { retailers, cursor: cursorAt({ ...stands, after: names.at(-1) as string }) };
    await ask(TASK, FORGET, keys.names(stands.id)).catch(() => {}); // if this fails, they expire by themselves
    return { retailers };
  };

  /** `undefined` if they are not kept any more. */
  async function namesOf({ id, after }: Gathered, limit: number): Promise<DomainPrefix[] | undefined> {
    const values = [`(${after}`, String(limit), String(NAMES_KEPT_MS)];
    const reply = await ask(TASK, NAMES, keys.names(id), values);
    return Array.isArray(reply) ? (reply.map(textOf) as DomainPrefix[]) : undefined;
  }

  async function statusesOf(
    { id, isSpread }: Gathered,
    names: readonly DomainPrefix[],
  ): Promise<RetailerStatus[]> {
    const statuses: (RetailerStatus | undefined)[] = [];
    for (let from = 0; from < names.length; from += AT_A_TIME) {
      const some = names.slice(from, from + AT_A_TIME);
      const records = isSpread ? await recordsAlone(some) : await recordsTogether(id, some);
      statuses.push(...some.map((name, index) => statusOf(name, records[index])));
    }
    return statuses.filter((status) => status !== undefined);
  }

  async function recordsAlone(names: readonly DomainPrefix[]): Promise<unknown[]> {
    return Promise.all(names.map((name) => ask(TASK, RECORD, keys.tokens(name))));
  }

  async function recordsTogether(id: string, names: readonly DomainPrefix[]): Promise<unknown[]> {
    const own = keys.names(id);
    const values = [String(own.length - keys.prefix.length), ...names];
    return (await ask(TASK, RECORDS, own, values)) as unknown[];
  }
}

/** `undefined` if it has gone meanwhile. One of another type, or of another retailer, was never issued. */
function statusOf(name: DomainPrefix, record: unknown): RetailerStatus | undefined {
  if (!Array.isArray(record))
    return textOf(record) === "none" ? undefined : statusInFlatRecord({ domainPrefix: name });
  const [owner, issuedAt, expiresAt, refusedAt, scope] = record.map((field) =>
    field === null ? undefined : textOf(field),
  );
  return statusInFlatRecord({
    domainPrefix: name,
    issuedAt: owner === name ? issuedAt : undefined,
    expiresAt,
    refusedAt,
    scope,
  });
}

const NAMES = `
if redis.call('PEXPIRE', KEYS[1], ARGV[3]) == 0 then return 'gone' end
return redis.call('ZRANGEBYLEX', KEYS[1], ARGV[1], '+', 'LIMIT', 0, ARGV[2])`;

const FORGET = `return redis.call('DEL', KEYS[1])`;

const RECORD = `
local kind = redis.call('TYPE', KEYS[1]).ok
if kind ~= 'hash' then return kind end
return redis.call('HMGET', KEYS[1], 'domainPrefix', 'issuedAt', 'expiresAt', 'refusedAt', 'scope')`;

// The same for many retailers, if all keys are on one node. The prefix is this key without its own end.
const RECORDS = `
local prefix = string.sub(KEYS[1], 1, -ARGV[1] - 1)
local records = {}
for at = 2, #ARGV do
  local key = prefix .. '{' .. ARGV[at] .. '}:tokens'
  local kind = redis.call('TYPE', key).ok
  if kind ~= 'hash' then records[at - 1] = kind
  else
    records[at - 1] = redis.call('HMGET', key, 'domainPrefix', 'issuedAt', 'expiresAt', 'refusedAt', 'scope')
  end
end
return records`;

/** How far the names have been gathered. It goes into a cursor. */
interface Gathering {
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
interface Gathered {
  readonly id: string;
  readonly after: string;
  /** Whether the keys of two retailers may be on two nodes. */
  readonly isSpread: boolean;
}

/** How much work one page may do. */
interface Pace {
  /** About how many keys of the server one step looks at. */
  readonly keysAStep: number;
  /** At most this many steps for one page. If there is more to gather, the page is empty and the next one goes on. */
  readonly mostSteps: number;
}

/** @param after names up to this one have been on a page. */
function gathering(after: string): Gathering {
  return { id: randomUUID(), after, slot: 0, lastSlot: SLOTS - 1, scan: "0", run: "" };
}

/** Goes on gathering, with a limited number of steps: all keys of one node, then those of the next. */
function createGatherer(
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
