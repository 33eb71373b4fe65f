import {
  type DomainPrefix,
  type RetailerStatus,
  retailerStatus,
  storePages,
  type TokenStore,
} from "@retail-pos/core";
import { type Ask, instant, textOf } from "./driver.js";
import {
  type Gathered,
  type Gathering,
  gathererOn,
  gathering,
  NAMES_KEPT_MS,
  type Pace,
} from "./scan-names.js";
import type { Keys } from "./schema.js";

const PACE: Pace = { keysAStep: 1000, mostSteps: 25 };
/** Records that one script reads. It takes a millisecond or two, in which Redis does nothing else. */
const AT_A_TIME = 500;
const TASK = { operation: "list" } as const;

/**
 * Goes through the retailers in the order of their names. Redis has no such order: `SCAN` goes through the keys of a
 * server in an order of its own, shows some twice, and starts over after a restart. So a listing first scans every
 * node, and gathers the names, without duplicates, in a sorted set. If that set is gone it gathers again and goes on
 * behind the last name: each name comes once.
 */
export function listOn(ask: Ask, keys: Keys, pace: Pace = PACE): NonNullable<TokenStore["list"]> {
  const pages = storePages(`redis ${keys.prefix}`);
  const gather = gathererOn(ask, keys, pace);
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
    return textOf(record) === "none" ? undefined : retailerStatus({ domainPrefix: name });
  const [owner, issuedAt, expiresAt, refusedAt, scope] = record.map((field) =>
    field === null ? undefined : textOf(field),
  );
  return retailerStatus({
    domainPrefix: name,
    issuedAt: owner === name ? instant(issuedAt) : undefined,
    expiresAt: expiresAt === undefined ? undefined : instant(expiresAt),
    refusedAt: refusedAt === undefined ? undefined : instant(refusedAt),
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
