import { memoryStore, type RetailerStatus, type TokenSet, type TokenStore } from "@retail-pos/core";
import { storePages } from "@retail-pos/core/authoring";
import { describe, expect, test } from "vitest";
import { storeContract } from "./index.js";

describe("a careful store passes", () => {
  storeContract(test, () => mapStore());
  describe("also if it can claim and list", () =>
    storeContract(test, () => mapStore({ claim: {}, list: {} })));
  describe("as core's memory store", () => storeContract(test, () => memoryStore()));

  const shared = new Map<string, TokenSet>();
  describe("also where two stores keep tokens in one place", () => {
    storeContract(test, () => mapStore({ sets: shared }), { shared: true });
  });
});

const LETTERS = /every letter of a version is kept and compared/;

describe("the contract catches a store that", () => {
  const broken: [string, Flaws, RegExp][] = [
    ["ignores `replacing`", { ignoresReplacing: true }, /older version/],
    ["saves over nothing", { savesOverNothing: true }, /where nothing is stored/],
    ["compares tokens instead of versions", { comparesTokens: true }, /only the version is compared/],
    [
      "compares versions without their mark",
      { shortens: (version) => version.replace(/^mark:/, "") },
      LETTERS,
    ],
    ["cuts long versions", { shortens: (version) => version.slice(0, 44) }, LETTERS],
    ["knows no letter case in versions", { shortens: (version) => version.toLowerCase() }, LETTERS],
    ["reads, waits, then writes", { waitsBeforeWriting: true }, /exactly one saves/],
    ["keeps the object it was given", { keepsGiven: true }, /after it was saved/],
    ["hands out its own object", { handsOutOwn: true }, /loaded object/],
    ["never says whether it saved", { saysNothing: true }, /what was saved is loaded/],
    ["forgets refusedAt", { forgets: "refusedAt" }, /only that it was refused/],
    ["forgets limitedUntil", { forgets: "limitedUntil" }, /only that it is limited/],
    ["forgets scope", { forgets: "scope" }, /only its scope/],
    ["takes zero for nothing", { dropsZero: true }, /instants of zero/],
    ["cuts long tokens", { cutsAt: 4096 }, /long tokens/],
    ["remembers what was removed", { neverRemoves: true }, /removed retailer/],
    ["keeps one set for everybody", { oneKey: true }, /do not touch each other/],
    ["uses a plain object as its map", { plainObject: true }, /constructor/],
    ["looks, waits, then claims", { claim: { waits: true } }, /many claims of one key at once/],
    ["lets everybody claim", { claim: { always: true } }, /stays claimed/],
    ["says nothing to a claim", { claim: { saysNothing: true } }, /many claims of one key at once/],
    ["has one claim for all keys", { claim: { keyOf: () => "all" } }, /keys that differ/],
    ["cuts long keys", { claim: { keyOf: (key) => key.slice(0, 1000) } }, /keys that differ/],
    ["knows no letter case", { claim: { keyOf: (key) => key.toLowerCase() } }, /keys that differ/],
    ["trims keys", { claim: { keyOf: (key) => key.trim() } }, /keys that differ/],
    ["never ends a claim", { claim: { endless: true } }, /a claim ends by itself/],
    ["lets the next one who asks shorten a claim", { claim: { shortens: true } }, /stays claimed/],
    ["forgets all claims when one ends", { claim: { clearsAll: true } }, /although others end too/],
    ["ends a claim with a removal", { claim: { endsWithRemoval: true } }, /leave each other alone/],
    ["lists tokens too", { list: { tells: (set) => set as never } }, /shows no token/],
    ["lists no scope", { list: { tells: ({ scope: _, ...rest }) => rest } }, /shows no token/],
    ["lists everybody, whatever the limit", { list: { noLimit: true } }, /holds no more than was asked for/],
    ["pages by a number, as if nobody went", { list: { byNumber: true } }, /whoever comes and goes/],
    ["ends after the first page", { list: { endsEarly: true } }, /listed once, 1 on a page/],
    [
      "begins each page with the last of the one before",
      { list: { overlaps: true } },
      /listed once, 7 on a page/,
    ],
    ["lists who was renewed last", { list: { movesRenewed: true } }, /renewed or logs in again between/],
    ["lists who is gone", { list: { remembers: true } }, /no retailer that was removed/],
    ["takes every limit", { list: { anyLimit: true } }, /a limit of -1/],
    ["takes every cursor", { list: { anyCursor: true } }, /a cursor that was cut/],
    ["keeps claims among the records", { claim: { isRecord: true } }, /leave each other alone/],
  ];
  for (const [what, flaws, expected] of broken) {
    test(what, async () => {
      const failures = await failuresOf((declare) => storeContract(declare, () => mapStore(flaws)));
      expect(failures.join("\n")).toMatch(expected);
    });
  }

  test("shares nothing although it said so", async () => {
    const failures = await failuresOf((declare) =>
      storeContract(declare, () => mapStore({ claim: {}, list: {} }), { shared: true }),
    );
    expect(failures).toEqual([
      "store: of many claims of one key from two stores, exactly one wins, if they can claim",
      "store: a cursor is good in another store on the same place, if they can list",
      "store: two stores on the same place see each other's saves and removals",
      "store: of many saves from two stores that would replace the same version, exactly one saves",
    ]);
  });
});

test("all names and keys that are written are made up: two runs have none in common, and leave nothing", async () => {
  const runs = [new Set<string>(), new Set<string>()] as const;
  for (const names of runs) {
    const inner = memoryStore();
    const noting: TokenStore = {
      ...inner,
      save(next, replacing) {
        names.add(next.domainPrefix);
        return inner.save(next, replacing);
      },
      remove(domainPrefix) {
        names.add(domainPrefix);
        return inner.remove(domainPrefix);
      },
      async claim(key, forMs) {
        names.add(key);
        return inner.claim?.(key, forMs) ?? false;
      },
    };
    expect(await failuresOf((declare) => storeContract(declare, () => noting, { shared: true }))).toEqual([]);
    expect(names.size).toBeGreaterThan(100);
    expect((await inner.list?.({ limit: 10 }))?.retailers).toEqual([]);
  }
  expect([...runs[0]].filter((name) => runs[1].has(name))).toEqual([]);
});

interface Flaws {
  sets?: Map<string, TokenSet>;
  ignoresReplacing?: boolean;
  savesOverNothing?: boolean;
  comparesTokens?: boolean;
  shortens?: (version: string) => string;
  waitsBeforeWriting?: boolean;
  keepsGiven?: boolean;
  handsOutOwn?: boolean;
  saysNothing?: boolean;
  forgets?: "refusedAt" | "limitedUntil" | "scope";
  dropsZero?: boolean;
  cutsAt?: number;
  neverRemoves?: boolean;
  oneKey?: boolean;
  plainObject?: boolean;
  claim?: ClaimFlaws;
  list?: ListFlaws;
}

interface ListFlaws {
  tells?: (set: TokenSet) => Partial<RetailerStatus>;
  noLimit?: boolean;
  byNumber?: boolean;
  endsEarly?: boolean;
  overlaps?: boolean;
  movesRenewed?: boolean;
  remembers?: boolean;
  anyLimit?: boolean;
  anyCursor?: boolean;
}

interface ClaimFlaws {
  waits?: boolean;
  always?: boolean;
  saysNothing?: boolean;
  keyOf?: (key: string) => string;
  endless?: boolean;
  shortens?: boolean;
  clearsAll?: boolean;
  endsWithRemoval?: boolean;
  isRecord?: boolean;
}

/** A store of a few lines, right unless told otherwise. */
function mapStore(flaws: Flaws = {}): TokenStore {
  const sets = flaws.sets ?? (flaws.plainObject ? plainObjectMap() : new Map<string, TokenSet>());
  const keyOf = (domainPrefix: string) => (flaws.oneKey ? "all" : domainPrefix);
  const claims = new Map<string, number>();
  return {
    ...(flaws.claim && { claim: claimOn(claims, sets, flaws.claim) }),
    ...(flaws.list && { list: listOf(sets, flaws.list) }),
    async load(domainPrefix) {
      const held = sets.get(keyOf(domainPrefix));
      return flaws.handsOutOwn ? held : structuredClone(held);
    },
    async save(next, replacing) {
      const held = sets.get(keyOf(next.domainPrefix));
      if (flaws.waitsBeforeWriting) await new Promise((resolve) => setImmediate(resolve));
      if (replacing && !flaws.ignoresReplacing && !mayReplace(flaws, held, replacing)) return false;
      sets.set(keyOf(next.domainPrefix), flaws.keepsGiven ? next : spoiltBy(flaws, structuredClone(next)));
      return flaws.saysNothing ? (undefined as unknown as boolean) : true;
    },
    async remove(domainPrefix) {
      if (!flaws.neverRemoves) sets.delete(keyOf(domainPrefix));
      if (flaws.claim?.endsWithRemoval) claims.delete(domainPrefix);
    },
  };
}

function claimOn(
  claims: Map<string, number>,
  sets: Map<string, TokenSet>,
  flaws: ClaimFlaws,
): NonNullable<TokenStore["claim"]> {
  return async (given, forMs) => {
    const key = flaws.keyOf?.(given) ?? given;
    const endsAt = claims.get(key) ?? 0;
    if (flaws.waits) await new Promise((resolve) => setImmediate(resolve));
    if (flaws.clearsAll && [...claims.values()].some((end) => end <= performance.now())) claims.clear();
    const isHeld = endsAt > performance.now();
    if (flaws.shortens || !isHeld) {
      claims.set(key, flaws.endless ? Number.POSITIVE_INFINITY : performance.now() + forMs);
    }
    if (flaws.isRecord) sets.set(key, sets.get(key) ?? ({ domainPrefix: key } as TokenSet));
    return flaws.saysNothing ? (undefined as unknown as boolean) : flaws.always || !isHeld;
  };
}

function listOf(sets: Map<string, TokenSet>, flaws: ListFlaws): NonNullable<TokenStore["list"]> {
  const pages = storePages("map");
  const known = new Map<string, TokenSet>();
  const numbers = new Map<string, string>();
  const numberOf = ({ version }: TokenSet) => {
    numbers.set(version, numbers.get(version) ?? String(numbers.size).padStart(6, "0"));
    return numbers.get(version) as string;
  };
  return async (ask) => {
    for (const [name, set] of sets) known.set(name, set);
    const rows = [...(flaws.remembers ? known : sets).values()];
    const keyOf = (set: TokenSet) => (flaws.movesRenewed ? numberOf(set) : set.domainPrefix);
    rows.sort((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1));
    const limit = flaws.anyLimit ? Math.max(1, ask.limit || 1) : pages.asked({ limit: ask.limit }).limit;
    const position = flaws.anyCursor
      ? positionIn(ask.cursor)
      : pages.asked({ limit: 1, cursor: ask.cursor }).position;
    const isAfter = (set: TokenSet) =>
      position === undefined ||
      keyOf(set) > position ||
      (flaws.overlaps && keyOf(set) === position && limit > 1);
    const left = flaws.byNumber ? rows.slice(Number(position ?? 0)) : rows.filter(isAfter);
    const page = flaws.noLimit ? left : left.slice(0, limit);
    const last = page.at(-1);
    const isOver = flaws.endsEarly || last === undefined || page.length === left.length;
    const next = last && (flaws.byNumber ? `${Number(position ?? 0) + page.length}` : keyOf(last));
    return {
      retailers: page.map(flaws.tells ?? statusOf) as RetailerStatus[],
      ...(!isOver && next !== undefined && { cursor: pages.cursorAt(next) }),
    };
  };
}

function positionIn(cursor: unknown): string | undefined {
  return cursor === undefined ? undefined : Buffer.from(String(cursor), "base64url").toString();
}

function statusOf({ domainPrefix, access, issuedAt, refusedAt, scope }: TokenSet): RetailerStatus {
  const { expiresAt } = access;
  return JSON.parse(JSON.stringify({ domainPrefix, issuedAt, expiresAt, refusedAt, scope }));
}

function mayReplace(flaws: Flaws, held: TokenSet | undefined, replacing: TokenSet): boolean {
  if (!held) return flaws.savesOverNothing === true;
  if (flaws.comparesTokens) return held.refreshToken === replacing.refreshToken;
  const { shortens = (version) => version } = flaws;
  return shortens(held.version) === shortens(replacing.version);
}

function spoiltBy(flaws: Flaws, { refusedAt, ...set }: TokenSet): TokenSet {
  const isKept = refusedAt !== undefined && !(flaws.dropsZero && refusedAt === 0);
  const refreshToken = flaws.cutsAt ? set.refreshToken.slice(0, flaws.cutsAt) : set.refreshToken;
  const { [flaws.forgets ?? ("nothing" as never)]: _, ...left } = { ...set, ...(isKept && { refusedAt }) };
  return { ...left, refreshToken } as TokenSet;
}

function plainObjectMap(): Map<string, TokenSet> {
  const sets: Record<string, TokenSet> = {};
  const get = (key: string) => sets[key];
  const set = (key: string, value: TokenSet) => {
    sets[key] = value;
  };
  return { get, set, delete: (key: string) => delete sets[key] } as unknown as Map<string, TokenSet>;
}

async function failuresOf(declare: (test: (name: string, run: () => Promise<void>) => void) => void) {
  const declared: { name: string; run: () => Promise<void> }[] = [];
  declare((name, run) => declared.push({ name, run }));
  const failed = await Promise.all(
    declared.map(({ run }) =>
      run().then(
        () => false,
        () => true,
      ),
    ),
  );
  return declared.filter((_, index) => failed[index]).map(({ name }) => name);
}
