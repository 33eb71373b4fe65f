import assert from "node:assert/strict";
import type { RetailerStatus, TokenSet, TokenStore } from "@retail-pos/core";
import { retailerStatus } from "@retail-pos/core/authoring";
import type { OptionalTest } from "./contract-test.js";
import { newSet, randomRetailer } from "./records.js";

type Listing = Required<TokenStore>;

/** More pages than the store under test can need. A list with more fails, so that an endless one does not hang. */
const MOST_PAGES = 100_000;

/** The tests of `list`. */
export const listTests: readonly OptionalTest[] = [
  ["a list says of each retailer what it may, and shows no token", tells],
  ["a list shows a renewal, and no retailer that was removed", followsChanges],
  ["every retailer is listed once, 1 on a page", pagesOf(1)],
  ["every retailer is listed once, 7 on a page", pagesOf(7)],
  ["every retailer is listed once, 10000 on a page", pagesOf(10_000)],
  [
    "a page holds no more than was asked for, though the next ask is for another number",
    pagesOf((page) => 1 + (page % 4)),
  ],
  ["who is there from the first page to the last is listed once, whoever comes and goes", bearsChanges],
  ["who is renewed or logs in again between two pages is listed once", bearsRenewals],
  ...[0, -1, 1.5, 1e9, Number.NaN, Number.POSITIVE_INFINITY, "10", null, undefined].map(refusesLimit),
  ["a cursor that was cut, changed or made up is a TypeError that names it", refusesCursors],
];

export const listTestOfTwo: OptionalTest = [
  "a cursor is good in another store on the same place",
  pagesOf(3),
];

async function tells(store: Listing): Promise<void> {
  const [plain, full, other] = some(3) as [TokenSet, TokenSet, TokenSet];
  const endless: TokenSet = { ...other, access: { value: other.access.value } };
  const sets = [plain, { ...full, refusedAt: 0, limitedUntil: 7, scope: "products:read all" }, endless];
  await withSets(store, sets, async () => {
    const listed = await retailersIn(store, 50);
    for (const set of sets) assertListed(listed, set);
    const shown = JSON.stringify(listed);
    for (const { access, refreshToken, version } of sets)
      for (const secret of [access.value, refreshToken, version]) assert.ok(!shown.includes(secret));
  });
}

async function followsChanges(store: Listing): Promise<void> {
  const [held, gone] = some(2) as [TokenSet, TokenSet];
  const next = { ...newSet(held.domainPrefix), issuedAt: 5, access: { value: "next", expiresAt: 6 } };
  await withSets(store, [held, gone], async () => {
    assertOnce(await retailersIn(store, 50), [held, gone]);
    assert.equal(await store.save(next, held), true);
    await store.remove(gone.domainPrefix);
    const listed = await retailersIn(store, 50);
    assertOnce(listed, [held]);
    assertListed(listed, next);
    assert.equal(timesIn(listed, gone), 0, "a removed retailer is listed");
  });
}

function pagesOf(limit: number | ((page: number) => number)): OptionalTest[1] {
  return async (store, other) => {
    const sets = some(20);
    await withSets(store, sets, async () =>
      assertOnce(await retailersIn(store, limit, undefined, other), sets),
    );
  };
}

async function bearsChanges(store: Listing): Promise<void> {
  const [staying, going, coming] = [some(20), some(20), some(20)];
  try {
    await withSets(store, [...staying, ...going], async () => {
      const seen = await retailersIn(store, 3, async () => {
        const [out, into] = [going.pop(), coming.pop()];
        if (out) await store.remove(out.domainPrefix);
        if (into) await store.save(into);
        if (into && out) going.unshift(into);
      });
      assertOnce(seen, staying);
      const names = new Set(seen.map(({ domainPrefix }) => domainPrefix));
      assert.equal(names.size, seen.length, "a retailer was listed twice");
    });
  } finally {
    for (const { domainPrefix } of going) await store.remove(domainPrefix);
  }
}

async function bearsRenewals(store: Listing): Promise<void> {
  const sets = some(12);
  const held = new Map<string, TokenSet>(sets.map((set) => [set.domainPrefix, set]));
  const left = [...held.keys()];
  await withSets(store, sets, async () => {
    const seen = await retailersIn(store, 2, async (page) => {
      // One that has been listed already, and one more, listed or not.
      const listed = page.find(({ domainPrefix }) => held.has(domainPrefix))?.domainPrefix;
      for (const name of [listed, left.pop()]) {
        const old = held.get(name ?? "");
        if (!old) continue;
        const next = newSet(old.domainPrefix);
        assert.equal(await store.save(next, left.length % 3 === 0 ? undefined : old), true);
        held.set(next.domainPrefix, next);
      }
    });
    assertOnce(seen, sets);
  });
}

function refusesLimit(limit: unknown): OptionalTest {
  return [
    `a limit of ${String(limit)} (${typeof limit}) is a TypeError that names it`,
    (store) => assertNames(store, { limit }, "limit"),
  ];
}

async function refusesCursors(store: Listing): Promise<void> {
  await withSets(store, some(3), async () => {
    const { cursor = "" } = await store.list({ limit: 1 });
    assert.notEqual(cursor, "", "there is more than one retailer");
    const cut = Array.from(cursor, (_, length) => cursor.slice(0, length));
    const madeUp = [
      "0",
      "1",
      "shop",
      "x".repeat(5000),
      Buffer.from('{"after":"shop"}').toString("base64url"),
    ];
    for (const wrong of [...cut, ...madeUp, `${cursor}x`, `x${cursor}`, null, 0, {}, [cursor]])
      await assertNames(store, { limit: 1, cursor: wrong }, "cursor");
  });
}

async function assertNames(store: Listing, ask: object, word: string): Promise<void> {
  await assert.rejects(
    async () => store.list(ask as Parameters<Listing["list"]>[0]),
    (error) => error instanceof TypeError && error.message.includes(word),
    `no TypeError that names ${word}, for ${JSON.stringify(ask)}`,
  );
}

/**
 * All pages in order.
 *
 * @param between runs after each page but the last.
 * @param other every other page is read from it.
 */
async function retailersIn(
  store: Listing,
  limit: number | ((page: number) => number),
  between?: (page: readonly RetailerStatus[]) => Promise<void>,
  other: Listing = store,
): Promise<RetailerStatus[]> {
  const seen: RetailerStatus[] = [];
  let cursor: string | undefined;
  for (let pages = 0; pages === 0 || cursor !== undefined; pages += 1) {
    assert.ok(pages < MOST_PAGES, `the list does not end after ${MOST_PAGES} pages`);
    const most = typeof limit === "number" ? limit : limit(pages);
    const asked = pages % 2 === 0 ? store : other;
    const page = await asked.list({ limit: most, ...(cursor !== undefined && { cursor }) });
    assert.ok(page.retailers.length <= most, `${page.retailers.length} retailers for a limit of ${most}`);
    seen.push(...page.retailers);
    cursor = page.cursor;
    if (cursor !== undefined) await between?.(page.retailers);
  }
  return seen;
}

type Named = Pick<RetailerStatus, "domainPrefix">;

/** The store under test may hold others too. */
function assertOnce(seen: readonly Named[], expected: readonly Named[]): void {
  for (const each of expected)
    assert.equal(timesIn(seen, each), 1, `how often ${each.domainPrefix} is listed`);
}

function timesIn(seen: readonly Named[], { domainPrefix }: Named): number {
  return seen.filter((each) => each.domainPrefix === domainPrefix).length;
}

function assertListed(listed: readonly RetailerStatus[], { access, ...set }: TokenSet): void {
  const status = listed.find(({ domainPrefix }) => domainPrefix === set.domainPrefix);
  assert.deepEqual({ ...status }, retailerStatus({ ...set, expiresAt: access.expiresAt }));
}

function some(count: number): TokenSet[] {
  return Array.from({ length: count }, () => newSet(randomRetailer()));
}

async function withSets(
  store: TokenStore,
  sets: readonly TokenSet[],
  run: () => Promise<void>,
): Promise<void> {
  try {
    for (const set of sets) await store.save(set);
    await run();
  } finally {
    for (const { domainPrefix } of sets) await store.remove(domainPrefix);
  }
}
