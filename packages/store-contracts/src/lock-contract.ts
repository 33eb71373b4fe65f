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
  const onLock = (name: string, run: (lock: Lock, key: string) => Promise<void>) =>
    test(`lock: ${name}`, async () => {
      await within(handoverMs * 8, "the lock did not come to an end", run(await make(), randomKey()));
    });

  answering(onLock);
  excluding(onLock, handoverMs);
  failing(onLock, handoverMs);
  keys(onLock, handoverMs);
  if (slowWorkMs !== undefined) {
    test(`lock: work of ${slowWorkMs} ms keeps the lock to its end`, async () => {
      await staysHeld([await make()], randomKey(), slowWorkMs);
    });
  }
  if (shared) sharing(test, make, slowWorkMs, handoverMs);
}

type OnLock = (name: string, run: (lock: Lock, key: string) => Promise<void>) => unknown;

function answering(onLock: OnLock): void {
  onLock("answers what the work answered", async (lock, key) => {
    const result = { any: "value" };
    assert.equal(await lock(key, async () => result), result);
    assert.equal(await lock(key, async () => undefined), undefined);
  });

  onLock("does the work once", async (lock, key) => {
    let times = 0;
    await lock(key, async () => {
      times += 1;
    });
    assert.equal(times, 1);
  });
}

function excluding(onLock: OnLock, handoverMs: number): void {
  onLock("never lets two in under the same key, and lets everybody in", (lock, key) =>
    assertOneAtATime([lock], key, handoverMs),
  );

  onLock("a waiter starts only after the work before it has ended, and then soon", (lock, key) =>
    assertWaits([lock], key, handoverMs),
  );

  onLock("who waits is answered once: with what there is instead, or by the work", (lock, key) =>
    assertAnsweredOnce([lock], key, handoverMs),
  );

  onLock("what is read and written under the lock is not lost", async (lock, key) => {
    let value = 0;
    const addOne = async () => {
      const read = value;
      await turns();
      value = read + 1;
    };
    await Promise.all(Array.from({ length: 10 }, () => lock(key, addOne)));
    assert.equal(value, 10);
  });

  onLock("can be taken again and again", async (lock, key) => {
    for (let round = 0; round < 10; round += 1) {
      assert.equal(
        await within(
          handoverMs,
          "the lock did not become free",
          lock(key, async () => round),
        ),
        round,
      );
    }
  });
}

function failing(onLock: OnLock, handoverMs: number): void {
  onLock(
    "an error of the work reaches the caller as it is, and the lock is free again",
    async (lock, key) => {
      const error = new Error("the work failed");
      const failure = await lock(key, async () => Promise.reject(error)).catch((thrown: unknown) => thrown);
      assert.equal(failure, error);
      await within(
        handoverMs,
        "the lock stayed taken after an error",
        lock(key, async () => {}),
      );
    },
  );

  onLock("work that throws before it returns a promise is no different", async (lock, key) => {
    const error = new Error("thrown at once");
    const throwing = () => {
      throw error;
    };
    // Wrapped, since a lock may let such an error out at once too.
    const failure = await (async () => lock(key, throwing))().catch((thrown: unknown) => thrown);
    assert.equal(failure, error);
    await within(
      handoverMs,
      "the lock stayed taken after an error",
      lock(key, async () => {}),
    );
  });

  onLock("those who wait behind failing work get their turn", async (lock, key) => {
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
  });
}

function keys(onLock: OnLock, handoverMs: number): void {
  onLock("another key is free while one is held", async (lock, key) => {
    const held = await hold(lock, key);
    const others = [randomKey(), `${key}2`, key.slice(0, -1)];
    const work = Promise.all(others.map((other) => lock(other, async () => other)));
    const results = await within(handoverMs * 3, "other keys wait for one that is held", work).finally(
      held.release,
    );
    assert.deepEqual(results, others);
    await held.done;
  });

  onLock("many held keys do not use up the lock", async (lock) => {
    const holders = await Promise.all(Array.from({ length: 25 }, () => hold(lock, randomKey())));
    for (const holder of holders) holder.release();
    await Promise.all(holders.map((holder) => holder.done));
  });

  for (const [what, keyFrom] of awkwardKeys) {
    onLock(`takes a key ${what}`, async (lock, key) => {
      await assertOneAtATime([lock], keyFrom(key), handoverMs);
    });
  }
}

/** Made from a random one. */
const awkwardKeys: readonly (readonly [string, (key: string) => string])[] = [
  ["with a colon, a slash and a space", (key) => `a:b/c d ${key}`],
  ["of digits only", (key) => String(Number.parseInt(key.slice(-12), 16))],
  ["of 200 characters", (key) => key.padEnd(200, "k")],
  ["with quotes and a backslash", (key) => `店 'quoted' "twice" \\ ${key}`],
];

function sharing(
  test: ContractTest,
  make: () => Lock | Promise<Lock>,
  slowWorkMs: number | undefined,
  handoverMs: number,
): void {
  test("lock: two locks on the same place exclude each other", async () => {
    const locks = [await make(), await make()];
    await assertOneAtATime(locks, randomKey(), handoverMs);
    await assertWaits(locks, randomKey(), handoverMs);
  });
  test("lock: of two locks on the same place, who waits is answered once", async () => {
    await assertAnsweredOnce([await make(), await make()], randomKey(), handoverMs);
  });
  if (slowWorkMs === undefined) return;
  test(`lock: work of ${slowWorkMs} ms keeps another process out to its end`, async () => {
    await staysHeld([await make(), await make()], randomKey(), slowWorkMs);
  });
}

async function assertOneAtATime(locks: readonly Lock[], key: string, handoverMs: number): Promise<void> {
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
  const all = Promise.all(
    Array.from({ length: callers }, (_, index) => locks[index % locks.length]?.(key, work)),
  );
  const served = await within(handoverMs * callers, "some callers never got the lock", all);
  assert.equal(most, 1, `${most} were inside at the same time`);
  assert.deepEqual(
    served,
    Array.from({ length: callers }, () => "served"),
  );
}

async function assertWaits(locks: readonly Lock[], key: string, handoverMs: number): Promise<void> {
  const [first, second = first] = locks;
  assert.ok(first && second);
  const held = await hold(first, key);
  let started = false;
  const waiter = second(key, async () => {
    started = true;
  });
  // This test does not know how long a lock takes. If a key that was asked for later is had, it has been long enough.
  for (let round = 0; round < 3; round += 1) await second(randomKey(), () => turns());
  const tooEarly = started;
  held.release();
  assert.equal(tooEarly, false, "the waiter started while the lock was held");
  await within(handoverMs, "the waiter did not get the lock that had become free", waiter);
  await held.done;
}

/** A lock need not ask what there is instead. If it takes that, the work is not run, and nobody has the lock for it. */
async function assertAnsweredOnce(locks: readonly Lock[], key: string, handoverMs: number): Promise<void> {
  const [first, second = first] = locks;
  assert.ok(first && second);
  for (const there of ["something", undefined]) {
    const held = await hold(first, key);
    let works = 0;
    const work = async () => {
      works += 1;
      return "the work";
    };
    const waiter = second<string>(key, work, async () => there);
    for (let round = 0; round < 3; round += 1) await second(randomKey(), () => turns());
    held.release();
    const answer: string = await within(handoverMs, "the waiter was not answered", waiter);
    assert.equal(
      answer,
      works === 0 ? "something" : "the work",
      "the answer is not the one of what was done",
    );
    assert.equal(
      works === 0 && there === undefined,
      false,
      "there was nothing instead, and no work was done",
    );
    await held.done;
    await within(
      handoverMs,
      "the lock stayed taken after an answer",
      first(key, async () => {}),
    );
  }
}

/** Waits in real time, because a lease runs on the database's clock. */
async function staysHeld(locks: readonly Lock[], key: string, ms: number): Promise<void> {
  const [first, second = first] = locks;
  assert.ok(first && second);
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

const randomKey = () => `contract-${randomBytes(9).toString("hex")}`;
