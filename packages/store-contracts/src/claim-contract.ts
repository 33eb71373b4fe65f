import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { TokenStore } from "@retail-pos/core";
import type { OptionalTest } from "./contract-test.js";
import { newSet, randomRetailer } from "./records.js";

/** Longer than any test takes. */
const LONG_MS = 60_000;
/** A claim that is over soon. No test asserts how soon, because the machine may be slow. */
const SHORT_MS = 40;
const RIVALS = 24;
const MOST_QUESTIONS = 200;

/** The tests of `claim`. */
export const claimTests: readonly OptionalTest[] = [
  ["of many claims of one key at once, exactly one wins", oneWins],
  ["a claimed key stays claimed, whoever asks and for how long", staysClaimed],
  ["keys that differ are different keys", tellsApart],
  ["a claim ends by itself, and the key can be claimed again, once", ends],
  ["a claim ends although others end too", endsAlone],
  ["claims and records leave each other alone", isNoRecord],
];

export const claimTestOfTwo: OptionalTest = [
  "of many claims of one key from two stores, exactly one wins",
  oneWins,
];

type Claiming = Required<TokenStore>;

async function staysClaimed(store: Claiming): Promise<void> {
  const key = randomKey();
  assert.equal(await store.claim(key, LONG_MS), true, "nobody has claimed this key");
  assert.equal(await store.claim(key, LONG_MS), false);
  assert.equal(await store.claim(key, 1), false, "asking for a shorter time is asking");
  await sleep(SHORT_MS);
  assert.equal(await store.claim(key, LONG_MS), false, "a refused claim changed the one that holds");
}

async function tellsApart(store: Claiming): Promise<void> {
  const key = randomKey();
  const long = "x".repeat(10_000);
  const endings = [
    "",
    ...` \n%_*'"\u0000é`,
    "/a",
    "/b",
    "{a}",
    "e\u0301",
    " 店 🧾",
    "__proto__",
    `${long}1`,
    `${long}2`,
  ];
  const keys = [...endings.map((ending) => key + ending), key.toUpperCase(), ` ${key}`, `__proto__${key}`];
  for (const each of keys)
    assert.equal(await store.claim(each, LONG_MS), true, `not claimed yet: ${shown(each)}`);
  for (const each of keys) assert.equal(await store.claim(each, LONG_MS), false, `claimed: ${shown(each)}`);
}

async function ends(store: Claiming): Promise<void> {
  const key = randomKey();
  assert.equal(await store.claim(key, SHORT_MS), true);
  await assertEnds(store, key);
  assert.equal(await store.claim(key, LONG_MS), false, "claimed anew: for this long nobody else gets it");
}

async function endsAlone(store: Claiming): Promise<void> {
  const lasting = randomKey();
  const over = Array.from({ length: 11 }, randomKey);
  assert.equal(await store.claim(lasting, LONG_MS), true);
  await Promise.all(over.map((key) => store.claim(key, SHORT_MS)));
  for (const key of over) await assertEnds(store, key);
  assert.equal(await store.claim(lasting, LONG_MS), false);
}

async function isNoRecord(store: Claiming): Promise<void> {
  const retailer = randomRetailer();
  const [set, next] = [newSet(retailer), newSet(retailer)];
  try {
    assert.equal(await store.claim(retailer, LONG_MS), true);
    assert.equal(await store.load(retailer), undefined, "a claim is no record");
    assert.equal(await store.save(set), true);
    assert.equal(await store.claim(retailer, LONG_MS), false, "a save ended a claim");
    assert.equal(await store.save(next, set), true, "a claim changed a record");
    await store.remove(retailer);
    assert.equal(await store.claim(retailer, LONG_MS), false, "a removal ended a claim");
    assert.equal(await store.load(retailer), undefined);
  } finally {
    await store.remove(retailer);
  }
}

async function oneWins(store: Claiming, other: Claiming): Promise<void> {
  for (let round = 0; round < 3; round += 1) {
    const key = randomKey();
    const rivals = Array.from({ length: RIVALS }, (_, index) => (index % 2 === 0 ? store : other));
    const answers = await Promise.all(rivals.map((rival) => rival.claim(key, LONG_MS)));
    assert.ok(
      answers.every((answer) => typeof answer === "boolean"),
      "claim answers true or false",
    );
    const winners = answers.filter(Boolean).length;
    assert.equal(winners, 1, `${winners} of ${RIVALS} claims won`);
    for (const each of [store, other]) assert.equal(await each.claim(key, LONG_MS), false);
  }
}

/** Asks again and again, because a slow machine is not the store's fault. */
async function assertEnds(store: Claiming, key: string): Promise<void> {
  for (let asked = 1; !(await store.claim(key, LONG_MS)); asked += 1) {
    assert.ok(asked < MOST_QUESTIONS, `a claim for ${SHORT_MS} ms has not ended after two seconds`);
    await sleep(10);
  }
}

const randomKey = () => `contract/${randomBytes(9).toString("hex")}`;
const shown = (key: string) => JSON.stringify(key.length > 100 ? `${key.slice(0, 100)}...` : key);
