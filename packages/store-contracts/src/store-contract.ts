import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import type { DomainPrefix, TokenSet, TokenStore } from "@retail-pos/core";
import { claiming } from "./claim-contract.js";
import type { ContractTest } from "./contract-test.js";
import { listing } from "./list-contract.js";
import { newLongVersion, newSet, newVersion, randomRetailer } from "./records.js";

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
  const onStore = (name: string, run: (store: TokenStore, retailer: DomainPrefix) => Promise<void>) =>
    test(`store: ${name}`, async () => {
      const store = await make();
      const retailer = randomRetailer();
      await run(store, retailer).finally(() => store.remove(retailer));
    });

  loading(onStore);
  saving(onStore);
  replacing(onStore);
  removing(onStore);
  keeping(onStore);
  naming(onStore);
  claiming(test, make, shared);
  listing(test, make, shared);
  if (shared) sharing(test, make);
}

type OnStore = (name: string, run: (store: TokenStore, retailer: DomainPrefix) => Promise<void>) => unknown;

function loading(onStore: OnStore): void {
  onStore("a retailer nobody saved loads as undefined", async (store, retailer) => {
    assert.equal(await store.load(retailer), undefined);
  });

  for (const [what, difference] of roundTrips) {
    onStore(`what was saved is loaded, ${what}`, async (store, retailer) => {
      const saved = { ...newSet(retailer), ...difference };
      assert.equal(await store.save(saved), true, "save must say that it saved");
      assert.deepEqual(await store.load(retailer), saved);
    });
  }
}

function saving(onStore: OnStore): void {
  onStore(
    "a save without `replacing` replaces whatever is stored, and leaves nothing of it behind",
    async (store, retailer) => {
      const extras = { refusedAt: 1_767_000_000_000, limitedUntil: 1_767_000_000_001, scope: "all" };
      await store.save({ ...newSet(retailer), ...extras });
      const next = { ...newSet(retailer), access: { value: "without an expiry" } };
      assert.equal(await store.save(next), true);
      assert.deepEqual(await store.load(retailer), next);
    },
  );

  onStore("saving the same set twice is no mistake", async (store, retailer) => {
    const set = newSet(retailer);
    assert.equal(await store.save(set), true);
    assert.equal(await store.save(set), true);
    assert.deepEqual(await store.load(retailer), set);
  });
}

function replacing(onStore: OnStore): void {
  onStore("a save with `replacing` saves while the store holds that version", async (store, retailer) => {
    const [first, second, third] = [newSet(retailer), newSet(retailer), newSet(retailer)];
    await store.save(first);
    assert.equal(await store.save(second, first), true);
    assert.equal(await store.save(third, second), true);
    assert.deepEqual(await store.load(retailer), third);
  });

  onStore(
    "a save that would replace an older version says false and changes nothing",
    async (store, retailer) => {
      const [first, second, late] = [newSet(retailer), newSet(retailer), newSet(retailer)];
      await store.save(first);
      await store.save(second, first);
      assert.equal(await store.save(late, first), false);
      assert.deepEqual(await store.load(retailer), second);
    },
  );

  onStore(
    "a save with `replacing` where nothing is stored says false and stores nothing",
    async (store, retailer) => {
      assert.equal(await store.save(newSet(retailer), newSet(retailer)), false);
      assert.equal(await store.load(retailer), undefined);
    },
  );

  onStore("only the version is compared: other fields of `replacing` may differ", async (store, retailer) => {
    const held = newSet(retailer);
    const next = newSet(retailer);
    await store.save(held);
    assert.equal(await store.save(next, { ...newSet(retailer), version: held.version }), true);
    assert.deepEqual(await store.load(retailer), next);
  });

  onStore("the same tokens under another version are not the same set", async (store, retailer) => {
    const held = newSet(retailer);
    await store.save(held);
    assert.equal(await store.save(newSet(retailer), { ...held, version: newVersion() }), false);
    assert.deepEqual(await store.load(retailer), held);
  });

  onStore("every letter of a version is kept and compared", async (store, retailer) => {
    const version = newLongVersion();
    const others = [
      version.slice("mark:".length),
      version.toUpperCase(),
      `${version} `,
      version.slice(0, -1),
    ];
    const held = { ...newSet(retailer), version };
    await store.save(held);
    for (const other of others) {
      assert.equal(
        await store.save(newSet(retailer), { ...held, version: other }),
        false,
        `"${other}" is another`,
      );
      assert.deepEqual(await store.load(retailer), held);
    }
    const next = { ...newSet(retailer), version: newLongVersion() };
    assert.equal(await store.save(next, held), true);
    assert.deepEqual(await store.load(retailer), next);
  });

  onStore("of many saves that would replace the same version, exactly one saves", async (store, retailer) => {
    const first = newSet(retailer);
    await store.save(first);
    await assertOneSaves([store], first);
  });
}

function removing(onStore: OnStore): void {
  onStore("a removed retailer loads as undefined and can be saved again", async (store, retailer) => {
    await store.save(newSet(retailer));
    await store.remove(retailer);
    assert.equal(await store.load(retailer), undefined);
    const again = newSet(retailer);
    assert.equal(await store.save(again), true);
    assert.deepEqual(await store.load(retailer), again);
  });

  onStore("removing a retailer that is not there is no mistake", async (store, retailer) => {
    await store.remove(retailer);
    assert.equal(await store.load(retailer), undefined);
  });

  onStore("a renewal that was under way does not bring a removed retailer back", async (store, retailer) => {
    const held = newSet(retailer);
    await store.save(held);
    await store.remove(retailer);
    assert.equal(await store.save(newSet(retailer), held), false);
    assert.equal(await store.load(retailer), undefined);
  });
}

function keeping(onStore: OnStore): void {
  onStore(
    "what happens to an object after it was saved does not reach the store",
    async (store, retailer) => {
      const saved = newSet(retailer);
      const asSaved = structuredClone(saved);
      await store.save(saved);
      spoil(saved);
      assert.deepEqual(await store.load(retailer), asSaved);
    },
  );

  onStore("what happens to a loaded object does not reach the store", async (store, retailer) => {
    const saved = newSet(retailer);
    await store.save(structuredClone(saved));
    const loaded = await store.load(retailer);
    assert.ok(loaded);
    spoil(loaded);
    assert.deepEqual(await store.load(retailer), saved);
    assert.equal(
      await store.save(newSet(retailer), saved),
      true,
      "the stored version must be the saved one still",
    );
  });
}

function naming(onStore: OnStore): void {
  onStore("retailers do not touch each other", async (store, retailer) => {
    const [other, longer] = [randomRetailer(), `${retailer}-2` as DomainPrefix];
    const sets = [newSet(retailer), newSet(other), newSet(longer)] as const;
    for (const set of sets) await store.save(set);
    for (const set of sets) assert.deepEqual(await store.load(set.domainPrefix), set);
    await store.remove(retailer);
    assert.equal(
      await store.save(newSet(other), sets[0]),
      false,
      "another retailer's version must not count",
    );
    assert.deepEqual(await store.load(other), sets[1]);
    assert.deepEqual(await store.load(longer), sets[2]);
    await Promise.all([store.remove(other), store.remove(longer)]);
  });

  onStore("a retailer may be called constructor, and is asked for only", async (store) => {
    const real = await store.load("constructor" as DomainPrefix);
    assert.ok(real === undefined || real.domainPrefix === "constructor", "it is a member of every object");
  });

  for (const [what, name] of awkwardNames) {
    onStore(`a retailer may be called ${what}`, async (store) => {
      const retailer = name() as DomainPrefix;
      assert.equal(await store.load(retailer), undefined, "nothing was saved under this name");
      const first = newSet(retailer);
      const second = newSet(retailer);
      assert.equal(await store.save(first), true);
      assert.equal(await store.save(second, first), true);
      assert.deepEqual(await store.load(retailer), second);
      await store.remove(retailer);
      assert.equal(await store.load(retailer), undefined);
    });
  }
}

function sharing(test: ContractTest, make: () => TokenStore | Promise<TokenStore>): void {
  test("store: two stores on the same place see each other's saves and removals", async () => {
    const [here, there] = [await make(), await make()];
    const [first, second] = [newSet(randomRetailer()), newSet(randomRetailer())];
    const next = newSet(first.domainPrefix);
    await here.save(first);
    await there.save(second);
    assert.deepEqual(await there.load(first.domainPrefix), first);
    assert.equal(await there.save(next, first), true);
    assert.equal(await here.save(newSet(first.domainPrefix), first), false);
    assert.deepEqual(await here.load(first.domainPrefix), next);
    await here.remove(first.domainPrefix);
    await here.remove(second.domainPrefix);
    assert.equal(await there.load(first.domainPrefix), undefined);
    assert.equal(await there.load(second.domainPrefix), undefined);
  });

  test("store: of many saves from two stores that would replace the same version, exactly one saves", async () => {
    const stores = [await make(), await make()] as const;
    const first = newSet(randomRetailer());
    await stores[0].save(first);
    await assertOneSaves(stores, first);
    await stores[0].remove(first.domainPrefix);
  });
}

async function assertOneSaves(stores: readonly TokenStore[], first: TokenSet): Promise<void> {
  const rivals = Array.from({ length: 12 }, () => newSet(first.domainPrefix));
  const saved = await Promise.all(
    rivals.map((rival, index) => stores[index % stores.length]?.save(rival, first)),
  );
  const winners = rivals.filter((_rival, index) => saved[index] === true);
  assert.equal(winners.length, 1, `${winners.length} of ${rivals.length} saves said that they saved`);
  assert.ok(
    saved.every((result) => typeof result === "boolean"),
    "save answers true or false",
  );
  for (const store of stores) assert.deepEqual(await store.load(first.domainPrefix), winners[0]);
}

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
