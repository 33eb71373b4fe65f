import { memoryStore, type TokenSet, type TokenStore } from "@retail-pos/core";
import { expect, test } from "vitest";
import { NOON, setOf } from "../../testing/records.js";
import { checkedStore } from "./checked-store.js";
import { copyRetailer } from "./copying.js";

const shop = setOf("shop").domainPrefix;

/** Copies between two stores, the second of which somebody else may change just before one of its saves. */
async function copied(
  source: Partial<TokenSet> | undefined,
  target: Partial<TokenSet> | undefined,
  before: Record<number, (to: TokenStore) => Promise<unknown>> = {},
) {
  const [from, to] = [memoryStore(), memoryStore()];
  if (source) await from.save(setOf("shop", source));
  if (target) await to.save(setOf("shop", target));
  let saves = 0;
  const changing: TokenStore = {
    ...to,
    async save(next, replacing) {
      await before[++saves]?.(to);
      return to.save(next, replacing);
    },
  };
  const outcome = await copyRetailer(shop, checkedStore(from), checkedStore(changing)).catch(
    (error: Error) => error.message,
  );
  return { outcome, stored: await to.load(shop), source: await from.load(shop) };
}

const [before, after] = [NOON - 1, NOON];
type Changes = Partial<TokenSet> | undefined;
type Case = [name: string, source: Changes, target: Changes, outcome: string, version: string];
const cases: Case[] = [
  ["nothing is there", { version: "a" }, undefined, "copied", "a"],
  [
    "an older one is there",
    { version: "b", issuedAt: after },
    { version: "a", issuedAt: before },
    "copied",
    "b",
  ],
  [
    "a newer one is there",
    { version: "a", issuedAt: before },
    { version: "b", issuedAt: after },
    "newer",
    "b",
  ],
  ["both are of one moment", { version: "a" }, { version: "b" }, "copied", "a"],
  ["it is there already", { version: "a" }, { version: "a" }, "same", "a"],
  ["it is gone", undefined, { version: "a" }, "gone", "a"],
  ["only the mark of a refusal is new", { version: "b", refusedAt: NOON }, { version: "a" }, "copied", "b"],
];

test.each(cases)("if %s", async (_name, source, target, outcome, version) => {
  const answer = await copied(source, target);
  expect(answer.outcome).toBe(outcome);
  expect(answer.stored?.version).toBe(version);
  if (outcome === "copied") expect(answer.stored).toEqual(answer.source);
});

test("a renewal that comes into the other store meanwhile is compared, not overwritten", async () => {
  const newer = setOf("shop", { version: "newer", issuedAt: NOON });
  const { outcome, stored } = await copied(
    { version: "b", issuedAt: NOON - 2 },
    { version: "a", issuedAt: NOON - 3 },
    {
      1: (to) => to.save(newer),
    },
  );
  expect(outcome).toBe("newer");
  expect(stored).toEqual(newer);
});

test("another run that is quicker has copied it", async () => {
  const source = { version: "b", issuedAt: NOON };
  const { outcome } = await copied(source, { version: "a" }, { 1: (to) => to.save(setOf("shop", source)) });
  expect(outcome).toBe("same");
});

test("another application's tokens are not replaced", async () => {
  const { outcome, stored } = await copied(
    { version: "a~1234567", issuedAt: NOON },
    { version: "b~7654321" },
  );
  expect(outcome).toMatch(/another application/);
  expect(stored?.version).toBe("b~7654321");
});

test("a record that changes all the time is given up", async () => {
  const from = memoryStore();
  await from.save(setOf("shop"));
  const never: TokenStore = { ...memoryStore(), save: async () => false };
  await expect(copyRetailer(shop, checkedStore(from), checkedStore(never))).rejects.toThrow(
    /change all the time/,
  );
});

test.each<[string, Changes, Changes]>([
  ["the old store", { version: "sealed:a" }, undefined],
  ["the new store", { version: "a" }, { version: "sealed:a" }],
])(
  "records of %s that are sealed, and not opened here, are told, and nothing is written",
  async (_, ...sets) => {
    const { outcome, stored } = await copied(...sets);
    expect(outcome).toMatch(/it is sealed, .* Give this process sealedStore\(\) with its keys/);
    expect(stored?.version).toBe(sets[1]?.version);
  },
);
