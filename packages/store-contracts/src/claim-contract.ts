import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { TokenStore } from "@retail-pos/core";
import type { ContractTest } from "./contract-test.js";
import { newSet, randomRetailer } from "./records.js";

/** Longer than any test takes. */
const LONG_MS = 60_000;
/** A claim that is over soon. No test asserts how soon, because the machine may be slow. */
const SHORT_MS = 40;
const RIVALS = 24;
const MOST_QUESTIONS = 200;

type Claim = (key: string, forMs: number) => Promise<boolean>;
type OnClaim = (name: string, run: (claim: Claim, store: TokenStore) => Promise<void>) => unknown;

/** The tests of `claim`. A store without it passes. */
export function claiming(
  test: ContractTest,
  make: () => TokenStore | Promise<TokenStore>,
  shared: boolean,
): void {
  const onClaim: OnClaim = (name, run) =>
    test(`store: ${name}, if it can claim`, async () => {
      const store = await make();
      const claim = claimOf(store);
      if (claim) await run(claim, store);
    });

  winning(onClaim);
  telling(onClaim);
  ending(onClaim);
  besideRecords(onClaim);
  if (shared) {
    test("store: of many claims of one key from two stores, exactly one wins, if they can claim", async () => {
      const claims = [claimOf(await make()), claimOf(await make())];
      assert.equal(Boolean(claims[0]), Boolean(claims[1]));
      if (claims[0] && claims[1]) await assertOneWins([claims[0], claims[1]]);
    });
  }
}

function winning(onClaim: OnClaim): void {
  onClaim("of many claims of one key at once, exactly one wins", async (claim) => {
    for (let round = 0; round < 3; round += 1) await assertOneWins([claim]);
  });

  onClaim("a claimed key stays claimed, whoever asks and for how long", async (claim) => {
    const key = randomKey();
    assert.equal(await claim(key, LONG_MS), true, "nobody has claimed this key");
    assert.equal(await claim(key, LONG_MS), false);
    assert.equal(await claim(key, 1), false, "asking for a shorter time is asking");
    await sleep(SHORT_MS);
    assert.equal(await claim(key, LONG_MS), false, "a refused claim changed the one that holds");
  });
}

function telling(onClaim: OnClaim): void {
  onClaim("keys that differ are different keys", async (claim) => {
    const key = randomKey();
    const long = `${key}${"x".repeat(10_000)}`;
    const keys = [
      ...[key, key.toUpperCase(), `${key} `, ` ${key}`, `${key}\n`, `${key}%`, `${key}_`, `${key}/a`],
      ...[
        `${key}/b`,
        `${key}{a}`,
        `${key}*`,
        `${key}'`,
        `${key}"`,
        `${key}\u0000`,
        `${key}é`,
        `${key}e\u0301`,
      ],
      ...[`${key} 店 🧾`, `${key}__proto__`, `__proto__${key}`, `${long}1`, `${long}2`],
    ];
    for (const each of keys)
      assert.equal(await claim(each, LONG_MS), true, `not claimed yet: ${shown(each)}`);
    for (const each of keys) assert.equal(await claim(each, LONG_MS), false, `claimed: ${shown(each)}`);
  });
}

function ending(onClaim: OnClaim): void {
  onClaim("a claim ends by itself, and the key can be claimed again, once", async (claim) => {
    const key = randomKey();
    assert.equal(await claim(key, SHORT_MS), true);
    await assertEnds(claim, key);
    assert.equal(await claim(key, LONG_MS), false, "claimed anew: for this long nobody else gets it");
  });

  onClaim("a claim ends although others end too", async (claim) => {
    const [lasting, ...over] = Array.from({ length: 12 }, randomKey) as [string, ...string[]];
    assert.equal(await claim(lasting, LONG_MS), true);
    await Promise.all(over.map((key) => claim(key, SHORT_MS)));
    for (const key of over) await assertEnds(claim, key);
    assert.equal(await claim(lasting, LONG_MS), false);
  });
}

function besideRecords(onClaim: OnClaim): void {
  onClaim("claims and records leave each other alone", async (claim, store) => {
    const retailer = randomRetailer();
    const [set, next] = [newSet(retailer), newSet(retailer)];
    try {
      assert.equal(await claim(retailer, LONG_MS), true);
      assert.equal(await store.load(retailer), undefined, "a claim is no record");
      assert.equal(await store.save(set), true);
      assert.equal(await claim(retailer, LONG_MS), false, "a save ended a claim");
      assert.equal(await store.save(next, set), true, "a claim changed a record");
      await store.remove(retailer);
      assert.equal(await claim(retailer, LONG_MS), false, "a removal ended a claim");
      assert.equal(await store.load(retailer), undefined);
    } finally {
      await store.remove(retailer);
    }
  });
}

async function assertOneWins(claims: readonly Claim[]): Promise<void> {
  const key = randomKey();
  const rivals = Array.from({ length: RIVALS }, (_, index) => claims[index % claims.length] as Claim);
  const answers = await Promise.all(rivals.map((claim) => claim(key, LONG_MS)));
  assert.ok(
    answers.every((answer) => typeof answer === "boolean"),
    "claim answers true or false",
  );
  const winners = answers.filter(Boolean).length;
  assert.equal(winners, 1, `${winners} of ${RIVALS} claims won`);
  for (const claim of claims) assert.equal(await claim(key, LONG_MS), false);
}

/** Asks again and again, because a slow machine is not the store's fault. */
async function assertEnds(claim: Claim, key: string): Promise<void> {
  for (let asked = 1; !(await claim(key, LONG_MS)); asked += 1) {
    assert.ok(asked < MOST_QUESTIONS, `a claim for ${SHORT_MS} ms has not ended after two seconds`);
    await sleep(10);
  }
}

function claimOf(store: TokenStore): Claim | undefined {
  return store.claim?.bind(store);
}

const randomKey = () => `contract/${randomBytes(9).toString("hex")}`;
const shown = (key: string) => JSON.stringify(key.length > 100 ? `${key.slice(0, 100)}...` : key);
