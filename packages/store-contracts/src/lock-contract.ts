import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import type { Lock } from "@retail-pos/core";
import { type ContractTest, gate, turns, within } from "./contract-test.js";

/** Facts about the lock under test. */
export interface LockContractOptions {
  /**
   * Set it when every lock that `make` gives excludes the others (a database, Redis). Two of them are then tried
   * against each other, as two processes would. Default false.
   */
  shared?: boolean;
  /**
   * For a lock with a lease: how long work shall last, in real milliseconds, to be longer than the lease. Default: not
   * tried.
   */
  slowWorkMs?: number;
  /** The longest a waiter may take to get a lock that has become free, in real milliseconds. Default 2000. */
  handoverMs?: number;
}

/**
 * Declares the tests every `Lock` must pass. `make` is called once per test, twice with `shared`. All keys are random,
 * so an application may use the database at the same time.
 */
export function lockContract(
  test: ContractTest,
  make: () => Lock | Promise<Lock>,
  { shared = false, slowWorkMs, handoverMs = 2000 }: LockContractOptions = {},
): void {
  for (const [name, run] of TESTS)
    test(`lock: ${name}`, async () => {
      const lock = await make();
      const work = run({ first: lock, second: lock, key: randomKey(), handoverMs });
      await within(handoverMs * 8, "the lock did not come to an end", work);
    });
  for (const [name, tests] of shared ? TESTS_OF_TWO : [])
    test(`lock: ${name}`, async () => {
      const [first, second] = [await make(), await make()];
      for (const run of tests) await run({ first, second, key: randomKey(), handoverMs });
    });
  if (slowWorkMs === undefined) return;
  test(`lock: work of ${slowWorkMs} ms keeps the lock to its end`, async () => {
    const lock = await make();
    await staysHeld(lock, lock, slowWorkMs);
  });
  if (!shared) return;
  test(`lock: work of ${slowWorkMs} ms keeps another process out to its end`, async () => {
    await staysHeld(await make(), await make(), slowWorkMs);
  });
}

/** What a test gets. Both locks are the same one, unless the test is about two of them. */
interface Given {
  readonly first: Lock;
  readonly second: Lock;
  /** Random. */
  readonly key: string;
  readonly handoverMs: number;
}

type LockTest = (given: Given) => Promise<void>;

const TESTS: readonly (readonly [name: string, run: LockTest])[] = [
  ["answers what the work answered", answers],
  ["does the work once", worksOnce],
  ["never lets two in under the same key, and lets everybody in", oneAtATime],
  ["a waiter starts only after the work before it has ended, and then soon", waits],
  ["who waits is answered once: with what there is instead, or by the work", answersOnce],
  ["what is read and written under the lock is not lost", losesNothing],
  ["can be taken again and again", takenAgain],
  [
    "an error of the work reaches the caller as it is, and the lock is free again",
    failing((error) => Promise.reject(error)),
  ],
  [
    "work that throws before it returns a promise is no different",
    failing((error) => {
      throw error;
    }),
  ],
  ["those who wait behind failing work get their turn", waitsBehindFailures],
  ["another key is free while one is held", leavesOthersFree],
  ["many held keys do not use up the lock", holdsMany],
  ["takes a key with a colon, a slash and a space", withKey((key) => `a:b/c d ${key}`)],
  ["takes a key of digits only", withKey((key) => String(Number.parseInt(key.slice(-12), 16)))],
  ["takes a key of 200 characters", withKey((key) => key.padEnd(200, "k"))],
  ["takes a key with quotes and a backslash", withKey((key) => `店 'quoted' "twice" \\ ${key}`)],
];

const TESTS_OF_TWO: readonly (readonly [name: string, tests: readonly LockTest[]])[] = [
  ["two locks on the same place exclude each other", [oneAtATime, waits]],
  ["of two locks on the same place, who waits is answered once", [answersOnce]],
];

async function answers({ first: lock, key }: Given): Promise<void> {
  const result = { any: "value" };
  assert.equal(await lock(key, async () => result), result);
  assert.equal(await lock(key, async () => undefined), undefined);
}

async function worksOnce({ first: lock, key }: Given): Promise<void> {
  let times = 0;
  await lock(key, async () => {
    times += 1;
  });
  assert.equal(times, 1);
}

async function losesNothing({ first: lock, key }: Given): Promise<void> {
  let value = 0;
  const addOne = async () => {
    const read = value;
    await turns();
    value = read + 1;
  };
  await Promise.all(Array.from({ length: 10 }, () => lock(key, addOne)));
  assert.equal(value, 10);
}

async function takenAgain(given: Given): Promise<void> {
  for (let round = 0; round < 10; round += 1) await isFree(given, "the lock did not become free");
}

function failing(work: (error: Error) => Promise<never>): LockTest {
  return async (given) => {
    const error = new Error("the work failed");
    // Wrapped, since a lock may let an error that is thrown at once out at once too.
    const failure = await (async () => given.first(given.key, () => work(error)))().catch((thrown) => thrown);
    assert.equal(failure, error);
    await isFree(given, "the lock stayed taken after an error");
  };
}

async function waitsBehindFailures({ first: lock, key, handoverMs }: Given): Promise<void> {
  const held = await hold(lock, key);
  const results = Array.from({ length: 6 }, (_, index) =>
    lock(key, async () => (index % 2 === 0 ? index : Promise.reject(new Error(`${index}`)))),
  );
  const settled = Promise.allSettled(results);
  held.release();
  const outcomes = await within(handoverMs * 6, "some waiters never got the lock", settled);
  assert.deepEqual(
    outcomes.map((outcome) => outcome.status),
    ["fulfilled", "rejected", "fulfilled", "rejected", "fulfilled", "rejected"],
  );
  await held.done;
}

async function leavesOthersFree({ first: lock, key, handoverMs }: Given): Promise<void> {
  const held = await hold(lock, key);
  const others = [randomKey(), `${key}2`, key.slice(0, -1)];
  const work = Promise.all(others.map((other) => lock(other, async () => other)));
  const isLate = "other keys wait for one that is held";
  assert.deepEqual(await within(handoverMs * 3, isLate, work).finally(held.release), others);
  await held.done;
}

async function holdsMany({ first: lock }: Given): Promise<void> {
  const holders = await Promise.all(Array.from({ length: 25 }, () => hold(lock, randomKey())));
  for (const holder of holders) holder.release();
  await Promise.all(holders.map((holder) => holder.done));
}

function withKey(made: (key: string) => string): LockTest {
  return (given) => oneAtATime({ ...given, key: made(given.key) });
}

async function oneAtATime({ first, second, key, handoverMs }: Given): Promise<void> {
  const callers = 12;
  let inside = 0;
  let most = 0;
  const work = async () => {
    inside += 1;
    most = Math.max(most, inside);
    await turns();
    inside -= 1;
    return "served";
  };
  const all = Array.from({ length: callers }, (_, index) => (index % 2 === 0 ? first : second)(key, work));
  const served = await within(handoverMs * callers, "some callers never got the lock", Promise.all(all));
  assert.equal(most, 1, `${most} were inside at the same time`);
  assert.deepEqual(served, Array(callers).fill("served"));
}

async function waits({ first, second, key, handoverMs }: Given): Promise<void> {
  const held = await hold(first, key);
  let started = false;
  const waiter = second(key, async () => {
    started = true;
  });
  await longEnough(second);
  const tooEarly = started;
  held.release();
  assert.equal(tooEarly, false, "the waiter started while the lock was held");
  await within(handoverMs, "the waiter did not get the lock that had become free", waiter);
  await held.done;
}

/** A lock need not ask what there is instead. If it takes that, the work is not run, and nobody has the lock for it. */
async function answersOnce(given: Given): Promise<void> {
  const { first, second, key, handoverMs } = given;
  for (const there of ["something", undefined]) {
    const held = await hold(first, key);
    let works = 0;
    const work = async () => {
      works += 1;
      return "the work";
    };
    const waiter = second<string>(key, work, async () => there);
    await longEnough(second);
    held.release();
    const answer = await within(handoverMs, "the waiter was not answered", waiter);
    const done = works === 0 ? "something" : "the work";
    assert.equal(answer, done, "the answer is not the one of what was done");
    assert.ok(works > 0 || there, "there was nothing instead, and no work was done");
    await held.done;
    await isFree(given, "the lock stayed taken after an answer");
  }
}

/** Waits in real time, because a lease runs on the database's clock. */
async function staysHeld(first: Lock, second: Lock, ms: number): Promise<void> {
  const key = randomKey();
  const events: string[] = [];
  const begun = gate();
  const slow = first(key, async () => {
    begun.open();
    await new Promise((resolve) => setTimeout(resolve, ms));
    events.push("slow work ended");
  });
  await begun.opened;
  const waiter = second(key, async () => events.push("waiter started"));
  await Promise.all([slow, waiter]);
  assert.deepEqual(events, ["slow work ended", "waiter started"]);
}

/** Takes the lock and keeps it until `release()`. */
async function hold(lock: Lock, key: string): Promise<{ release: () => void; done: Promise<void> }> {
  const [taken, held] = [gate(), gate()];
  const done = lock(key, async () => {
    taken.open();
    await held.opened;
  });
  // If the lock cannot be taken, `done` rejects and the test fails here instead of waiting for ever.
  await Promise.race([taken.opened, done]);
  return { release: held.open, done };
}

/** Nobody knows how long a lock takes. If a key that was asked for later is had, it has been long enough. */
async function longEnough(lock: Lock): Promise<void> {
  for (let round = 0; round < 3; round += 1) await lock(randomKey(), turns);
}

async function isFree({ first: lock, key, handoverMs }: Given, otherwise: string): Promise<void> {
  const answer = lock(key, async () => "served");
  assert.equal(await within(handoverMs, otherwise, answer), "served");
}

const randomKey = () => `contract-${randomBytes(9).toString("hex")}`;
