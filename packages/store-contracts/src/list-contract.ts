import assert from "node:assert/strict";
import type { DomainPrefix, RetailerStatus, TokenSet, TokenStore } from "@retail-pos/core";
import type { ContractTest } from "./contract-test.js";
import { newSet, randomRetailer } from "./records.js";

type List = NonNullable<TokenStore["list"]>;
type OnList = (name: string, run: (list: List, store: TokenStore) => Promise<void>) => unknown;

/** More pages than the store under test can need. A list with more fails, so that an endless one does not hang. */
const MOST_PAGES = 100_000;

/** The tests of `list`. A store without it passes. */
export function listing(
  test: ContractTest,
  make: () => TokenStore | Promise<TokenStore>,
  shared: boolean,
): void {
  const onList: OnList = (name, run) =>
    test(`store: ${name}, if it can list`, async () => {
      const store = await make();
      if (store.list) await run(store.list.bind(store), store);
    });

  telling(onList);
  paging(onList);
  changing(onList);
  refusing(onList);
  if (shared) {
    test("store: a cursor is good in another store on the same place, if they can list", async () => {
      const [here, there] = [await make(), await make()];
      assert.equal(Boolean(here.list), Boolean(there.list));
      if (!here.list || !there.list) return;
      const lists = [here.list.bind(here), there.list.bind(there)];
      await withRetailers(here, 12, async (names) => {
        let turn = 0;
        const seen = await namesIn((ask) => (lists[turn++ % 2] as List)(ask), 3);
        assertOnce(seen, names);
      });
    });
  }
}

function telling(onList: OnList): void {
  onList("a list says of each retailer what it may, and shows no token", async (list, store) => {
    const [plain, full] = [newSet(randomRetailer()), newSet(randomRetailer())];
    const { access, ...rest } = newSet(randomRetailer());
    const endless: TokenSet = { ...rest, access: { value: access.value } };
    const sets = [plain, { ...full, refusedAt: 0, limitedUntil: 7, scope: "products:read all" }, endless];
    await withSets(store, sets, async () => {
      const listed = new Map((await retailersIn(list, 50)).map((each) => [each.domainPrefix, each]));
      for (const set of sets) assert.deepEqual({ ...listed.get(set.domainPrefix) }, statusOf(set));
      const shown = JSON.stringify([...listed.values()]);
      for (const { access, refreshToken, version } of sets)
        for (const secret of [access.value, refreshToken, version]) assert.ok(!shown.includes(secret));
    });
  });

  onList("a list shows a renewal, and no retailer that was removed", async (list, store) => {
    const [held, gone] = [newSet(randomRetailer()), newSet(randomRetailer())];
    const next = { ...newSet(held.domainPrefix), issuedAt: 5, access: { value: "next", expiresAt: 6 } };
    await withSets(store, [held, gone], async () => {
      assertOnce(await namesIn(list, 50), [held.domainPrefix, gone.domainPrefix]);
      assert.equal(await store.save(next, held), true);
      await store.remove(gone.domainPrefix);
      const listed = await retailersIn(list, 50);
      const names = listed.map(({ domainPrefix }) => domainPrefix);
      assertOnce(names, [held.domainPrefix]);
      assert.ok(!names.includes(gone.domainPrefix), "a removed retailer is listed");
      const [status] = listed.filter(({ domainPrefix }) => domainPrefix === held.domainPrefix);
      assert.deepEqual({ ...status }, statusOf(next));
    });
  });
}

function paging(onList: OnList): void {
  for (const limit of [1, 7, 10_000]) {
    onList(`every retailer is listed once, ${limit} on a page`, async (list, store) => {
      await withRetailers(store, 15, async (names) => assertOnce(await namesIn(list, limit), names));
    });
  }

  onList(
    "a page holds no more than was asked for, though the next ask is for another number",
    async (list, store) => {
      await withRetailers(store, 20, async (names) => {
        const seen: string[] = [];
        let cursor: string | undefined;
        for (let page = 0; page === 0 || cursor !== undefined; page += 1) {
          const limit = 1 + (page % 4);
          const answer = await list({ limit, ...(cursor !== undefined && { cursor }) });
          assert.ok(
            answer.retailers.length <= limit,
            `${answer.retailers.length} retailers for a limit of ${limit}`,
          );
          seen.push(...answer.retailers.map(({ domainPrefix }) => domainPrefix));
          cursor = answer.cursor;
        }
        assertOnce(seen, names);
      });
    },
  );
}

function changing(onList: OnList): void {
  onList(
    "who is there from the first page to the last is listed once, whoever comes and goes",
    async (list, store) => {
      const going = Array.from({ length: 20 }, () => newSet(randomRetailer()));
      const coming = Array.from({ length: 20 }, () => newSet(randomRetailer()));
      try {
        for (const set of going) await store.save(set);
        await withRetailers(store, 20, async (names) => {
          const seen = await namesIn(list, 3, async () => {
            const [out, into] = [going.pop(), coming.pop()];
            if (out) await store.remove(out.domainPrefix);
            if (into) await store.save(into);
            if (into && out) going.unshift(into);
          });
          assertOnce(seen, names);
          assert.equal(new Set(seen).size, seen.length, "a retailer was listed twice");
        });
      } finally {
        for (const { domainPrefix } of [...going, ...coming]) await store.remove(domainPrefix);
      }
    },
  );

  onList("who is renewed or logs in again between two pages is listed once", async (list, store) => {
    const held = new Map<string, TokenSet>();
    for (let each = 0; each < 12; each += 1) {
      const set = newSet(randomRetailer());
      held.set(set.domainPrefix, set);
    }
    const names = [...held.keys()];
    await withSets(store, [...held.values()], async () => {
      const seen = await namesIn(list, 2, async (page) => {
        // One that has been listed already, and one more, listed or not.
        for (const name of [
          page.find(({ domainPrefix }) => held.has(domainPrefix))?.domainPrefix,
          names.pop(),
        ]) {
          const old = name === undefined ? undefined : held.get(name);
          if (!old) continue;
          const next = newSet(old.domainPrefix);
          assert.equal(await store.save(next, names.length % 3 === 0 ? undefined : old), true);
          held.set(next.domainPrefix, next);
        }
      });
      assertOnce(seen, [...held.keys()]);
    });
  });
}

function refusing(onList: OnList): void {
  const limits = [0, -1, 1.5, 1e9, Number.NaN, Number.POSITIVE_INFINITY, "10", null, undefined];
  for (const limit of limits) {
    onList(`a limit of ${String(limit)} (${typeof limit}) is a TypeError that names it`, async (list) => {
      await assertNames(() => list({ limit } as { limit: number }), "limit");
    });
  }

  onList("a cursor that was cut, changed or made up is a TypeError that names it", async (list, store) => {
    await withRetailers(store, 3, async () => {
      const { cursor = "" } = await list({ limit: 1 });
      assert.notEqual(cursor, "", "there is more than one retailer");
      const wrong: unknown[] = [
        "",
        "0",
        "1",
        "shop",
        "x".repeat(5000),
        `${cursor}x`,
        `x${cursor}`,
        null,
        0,
        {},
        [cursor],
      ];
      for (let length = 1; length < cursor.length; length += 1) wrong.push(cursor.slice(0, length));
      wrong.push(Buffer.from('{"after":"shop"}').toString("base64url"));
      for (const each of wrong) await assertNames(() => list({ limit: 1, cursor: each as string }), "cursor");
    });
  });
}

async function assertNames(ask: () => Promise<unknown>, word: string): Promise<void> {
  const error = await (async () => ask())().then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof TypeError, `no TypeError: ${String(error)}`);
  assert.ok(error.message.includes(word), `${error.message} does not name ${word}`);
}

/** All pages in order; `between` runs after each but the last. */
async function retailersIn(
  list: List,
  limit: number,
  between?: (page: readonly RetailerStatus[]) => Promise<void>,
): Promise<RetailerStatus[]> {
  const seen: RetailerStatus[] = [];
  let cursor: string | undefined;
  for (let pages = 0; pages === 0 || cursor !== undefined; pages += 1) {
    assert.ok(pages < MOST_PAGES, `the list does not end after ${MOST_PAGES} pages`);
    const page = await list({ limit, ...(cursor !== undefined && { cursor }) });
    assert.ok(page.retailers.length <= limit, `${page.retailers.length} retailers for a limit of ${limit}`);
    seen.push(...page.retailers);
    cursor = page.cursor;
    if (cursor !== undefined) await between?.(page.retailers);
  }
  return seen;
}

async function namesIn(
  list: List,
  limit: number,
  between?: (page: readonly RetailerStatus[]) => Promise<void>,
): Promise<string[]> {
  return (await retailersIn(list, limit, between)).map(({ domainPrefix }) => domainPrefix);
}

/** The store under test may hold others too. */
function assertOnce(seen: readonly string[], expected: readonly string[]): void {
  const timesOf = new Map<string, number>();
  for (const name of seen) timesOf.set(name, (timesOf.get(name) ?? 0) + 1);
  for (const name of expected) assert.equal(timesOf.get(name) ?? 0, 1, `how often ${name} is listed`);
}

async function withRetailers(
  store: TokenStore,
  count: number,
  run: (names: DomainPrefix[]) => Promise<void>,
): Promise<void> {
  const sets = Array.from({ length: count }, () => newSet(randomRetailer()));
  await withSets(store, sets, () => run(sets.map(({ domainPrefix }) => domainPrefix)));
}

async function withSets(
  store: TokenStore,
  sets: readonly TokenSet[],
  run: () => Promise<void>,
): Promise<void> {
  const names = sets.map(({ domainPrefix }) => domainPrefix);
  try {
    for (const set of sets) await store.save(set);
    await run();
  } finally {
    for (const name of names) await store.remove(name);
  }
}

function statusOf({ domainPrefix, access, issuedAt, refusedAt, scope }: TokenSet): RetailerStatus {
  return {
    domainPrefix,
    issuedAt,
    ...(access.expiresAt !== undefined && { expiresAt: access.expiresAt }),
    ...(refusedAt !== undefined && { refusedAt }),
    ...(scope !== undefined && { scope }),
  };
}
