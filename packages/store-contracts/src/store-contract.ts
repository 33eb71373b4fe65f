import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import type { DomainPrefix, TokenSet, TokenStore } from "@retail-pos/core";
import { claimTestOfTwo, claimTests } from "./claim-contract.js";
import type { ContractTest, OptionalTest } from "./contract-test.js";
import { listTestOfTwo, listTests } from "./list-contract.js";
import { newLongVersion, newSet, randomRetailer } from "./records.js";

/** Facts about the store under test. */
export interface StoreContractOptions {
  /**
   * Set it when every store that `make` gives keeps its tokens in the same place
   * (a database, a file). Two of them are then tried against each other, as two
   * processes would. Default false.
   */
  shared?: boolean;
}

/**
 * Declares the tests every `TokenStore` must pass.
 *
 * `make` is called once per test, twice with `shared`. The store need not be empty, and may be one that an application
 * uses: the tests save and remove only retailers and claim only keys with random names, which nobody else has, and each
 * test removes the sets that it saved. Claims end by themselves, within a minute. The optional methods (`claim`,
 * `list`) are tested only if the store has them.
 */
export function storeContract(
  test: ContractTest,
  make: () => TokenStore | Promise<TokenStore>,
  { shared = false }: StoreContractOptions = {},
): void {
  const onStore = (
    name: string,
    steps: readonly Step[],
    { retailer = randomRetailer(), areTwo = false } = {},
  ) =>
    test(`store: ${name}`, async () => {
      const store = await make();
      const other = areTwo ? await make() : store;
      const sets = { A: newSet(retailer), B: newSet(retailer), C: newSet(retailer) };
      try {
        for (const step of steps) await step(store, sets, other);
      } finally {
        await store.remove(retailer);
      }
    });

  for (const [name, steps] of stories) onStore(name, steps);
  for (const [what, difference] of roundTrips)
    onStore(`what was saved is loaded, ${what}`, [changed("A", difference), saves("A"), holds("A")]);
  for (const [what, name] of awkwardNames)
    onStore(`a retailer may be called ${what}`, aLife, { retailer: name() as DomainPrefix });
  const ifItCan = (method: "claim" | "list", [name, run]: OptionalTest, areTwo = false) =>
    test(`store: ${name}, if ${areTwo ? "they" : "it"} can ${method}`, async () => {
      const store = await make();
      const other = areTwo ? await make() : store;
      assert.equal(Boolean(store[method]), Boolean(other[method]));
      if (store[method]) await run(store as Required<TokenStore>, other as Required<TokenStore>);
    });
  for (const each of claimTests) ifItCan("claim", each);
  for (const each of listTests) ifItCan("list", each);
  if (!shared) return;
  ifItCan("claim", claimTestOfTwo, true);
  ifItCan("list", listTestOfTwo, true);
  for (const [name, steps] of storiesOfTwo) onStore(name, steps, { areTwo: true });
}

/** Three sets of one retailer. */
type Sets = Record<"A" | "B" | "C", TokenSet>;

/** One step of a test. The other store is the same one, unless the test is about two of them. */
type Step = (store: TokenStore, sets: Sets, other: TokenStore) => Promise<void>;

function saves(next: keyof Sets, replacing?: keyof Sets | ((sets: Sets) => TokenSet), answer = true): Step {
  return async (store, sets) => {
    const replaced = typeof replacing === "string" ? sets[replacing] : replacing?.(sets);
    assert.equal(
      await store.save(structuredClone(sets[next]), replaced),
      answer,
      `save must say ${answer}, of set ${next}`,
    );
  };
}

const refuses = (next: keyof Sets, replacing: Parameters<typeof saves>[1]) => saves(next, replacing, false);

/** What the store has of the retailer: nothing, if no set is given. */
function holds(held?: keyof Sets): Step {
  return async (store, sets) => assert.deepEqual(await store.load(sets.A.domainPrefix), held && sets[held]);
}

const removes: Step = (store, { A }) => store.remove(A.domainPrefix);

function changed(set: keyof Sets, difference: Partial<TokenSet>): Step {
  return async (_store, sets) => void Object.assign(sets[set], difference);
}

/** The step, on the other store. */
function there(step: Step): Step {
  return (store, sets, other) => step(other, sets, store);
}

async function oneSaves(store: TokenStore, { A }: Sets, other: TokenStore): Promise<void> {
  const rivals = Array.from({ length: 12 }, () => newSet(A.domainPrefix));
  const saved = await Promise.all(
    rivals.map((rival, index) => (index % 2 === 0 ? store : other).save(rival, A)),
  );
  const winners = rivals.filter((_rival, index) => saved[index] === true);
  assert.equal(winners.length, 1, `${winners.length} of ${rivals.length} saves said that they saved`);
  assert.ok(
    saved.every((result) => typeof result === "boolean"),
    "save answers true or false",
  );
  for (const each of [store, other]) assert.deepEqual(await each.load(A.domainPrefix), winners[0]);
}

async function savesAndSpoils(store: TokenStore, { A }: Sets): Promise<void> {
  const given = structuredClone(A);
  await store.save(given);
  spoil(given);
}

async function loadsAndSpoils(store: TokenStore, { A }: Sets): Promise<void> {
  spoil((await store.load(A.domainPrefix)) as TokenSet);
}

async function keepsApart(store: TokenStore, { A }: Sets): Promise<void> {
  const names = [randomRetailer(), `${A.domainPrefix}-2` as DomainPrefix];
  const [other, longer] = names.map(newSet) as [TokenSet, TokenSet];
  for (const set of [A, other, longer]) await store.save(set);
  for (const set of [A, other, longer]) assert.deepEqual(await store.load(set.domainPrefix), set);
  await store.remove(A.domainPrefix);
  const isSaved = await store.save(newSet(other.domainPrefix), A);
  assert.equal(isSaved, false, "another retailer's version must not count");
  for (const set of [other, longer]) assert.deepEqual(await store.load(set.domainPrefix), set);
  await Promise.all(names.map((name) => store.remove(name)));
}

async function knowsNoConstructor(store: TokenStore): Promise<void> {
  const real = await store.load("constructor" as DomainPrefix);
  assert.ok(real === undefined || real.domainPrefix === "constructor", "it is a member of every object");
}

const VERSION = newLongVersion();
const LIKE_IT = [VERSION.slice("mark:".length), VERSION.toUpperCase(), `${VERSION} `, VERSION.slice(0, -1)];

const stories: readonly (readonly [name: string, steps: readonly Step[]])[] = [
  ["a retailer nobody saved loads as undefined", [holds()]],
  [
    "a save without `replacing` replaces whatever is stored, and leaves nothing of it behind",
    [
      changed("A", { refusedAt: 1_767_000_000_000, limitedUntil: 1_767_000_000_001, scope: "all" }),
      changed("B", { access: { value: "without an expiry" } }),
      saves("A"),
      saves("B"),
      holds("B"),
    ],
  ],
  ["saving the same set twice is no mistake", [saves("A"), saves("A"), holds("A")]],
  [
    "a save with `replacing` saves while the store holds that version",
    [saves("A"), saves("B", "A"), saves("C", "B"), holds("C")],
  ],
  [
    "a save that would replace an older version says false and changes nothing",
    [saves("A"), saves("B", "A"), refuses("C", "A"), holds("B")],
  ],
  [
    "a save with `replacing` where nothing is stored says false and stores nothing",
    [refuses("B", "A"), holds()],
  ],
  [
    "only the version is compared: other fields of `replacing` may differ",
    [saves("A"), saves("B", ({ A, C }) => ({ ...C, version: A.version })), holds("B")],
  ],
  [
    "the same tokens under another version are not the same set",
    [saves("A"), refuses("B", ({ A, C }) => ({ ...A, version: C.version })), holds("A")],
  ],
  [
    "every letter of a version is kept and compared",
    [
      changed("A", { version: VERSION }),
      saves("A"),
      ...LIKE_IT.flatMap((version) => [refuses("B", ({ A }) => ({ ...A, version })), holds("A")]),
      changed("B", { version: newLongVersion() }),
      saves("B", "A"),
      holds("B"),
    ],
  ],
  ["of many saves that would replace the same version, exactly one saves", [saves("A"), oneSaves]],
  [
    "a removed retailer loads as undefined and can be saved again",
    [saves("A"), removes, holds(), saves("B"), holds("B")],
  ],
  ["removing a retailer that is not there is no mistake", [removes, holds()]],
  [
    "a renewal that was under way does not bring a removed retailer back",
    [saves("A"), removes, refuses("B", "A"), holds()],
  ],
  ["what happens to an object after it was saved does not reach the store", [savesAndSpoils, holds("A")]],
  [
    "what happens to a loaded object does not reach the store",
    [saves("A"), loadsAndSpoils, holds("A"), saves("B", "A")],
  ],
  ["retailers do not touch each other", [keepsApart]],
  ["a retailer may be called constructor, and is asked for only", [knowsNoConstructor]],
];

const storiesOfTwo: typeof stories = [
  [
    "two stores on the same place see each other's saves and removals",
    [
      saves("A"),
      there(holds("A")),
      there(saves("B", "A")),
      refuses("C", "A"),
      holds("B"),
      removes,
      there(holds()),
      there(saves("C")),
      holds("C"),
      there(removes),
      holds(),
    ],
  ],
  [
    "of many saves from two stores that would replace the same version, exactly one saves",
    [saves("A"), oneSaves],
  ],
];

const aLife: readonly Step[] = [holds(), saves("A"), saves("B", "A"), holds("B"), removes, holds()];

/** The characters of an access token (RFC 6750 2.1, and a few more). */
const everyVisible = String.fromCharCode(...Array.from({ length: 94 }, (_, index) => index + 33));
const oddText = `${everyVisible} é ß 店 🧾 \t\n %00 \\u0000 ''`;

const roundTrips: readonly (readonly [string, Partial<TokenSet>])[] = [
  [
    "every field of it",
    { refusedAt: 1_767_225_599_999, limitedUntil: 1_767_225_599_998, scope: "products:read sales:write" },
  ],
  ["only that it was refused", { refusedAt: 1_767_225_599_999 }],
  ["only that it is limited", { limitedUntil: 1_767_225_599_998 }],
  ["only its scope", { scope: "0" }],
  ["an access token without a known expiry", { access: { value: "no expiry" } }],
  ["instants of zero", { access: { value: "a", expiresAt: 0 }, issuedAt: 0, refusedAt: 0, limitedUntil: 0 }],
  [
    "instants far away",
    { access: { value: "a", expiresAt: 253_402_300_799_999 }, issuedAt: 4_102_444_800_001 },
  ],
  ["long tokens", { access: { value: "a".repeat(16_384), expiresAt: 1 }, refreshToken: "r".repeat(16_384) }],
  [
    "odd characters in tokens",
    { access: { value: oddText, expiresAt: 1 }, refreshToken: `${oddText} again`, scope: oddText },
  ],
  ["tokens that look like numbers", { access: { value: "007" }, refreshToken: "1e3" }],
];

/** Random too: a retailer may be called like a word. */
const awkwardNames: readonly (readonly [string, () => string])[] = [
  ["with all 63 characters a label can have", () => randomBytes(32).toString("hex").slice(0, 63)],
  ["with digits only, zeros first", () => `00${Array.from(randomBytes(40), (byte) => byte % 10).join("")}`],
  ["with hyphens", () => `a--${randomBytes(9).toString("hex")}-z`],
];

/** Tries to change an object. A store may hand out frozen ones, which cannot be changed: that is as good. */
function spoil(set: TokenSet): void {
  Reflect.set(set, "refreshToken", "spoilt");
  Reflect.set(set, "version", "spoilt");
  Reflect.set(set.access, "value", "spoilt");
  Reflect.set(set.access, "expiresAt", 1);
}
