import type { Lock } from "@retail-pos/core";
import { describe, expect, test } from "vitest";
import { lockContract } from "./index.js";

describe("a careful lock passes", () => {
  lockContract(test, () => queueLock());

  const tails = new Map<string, Promise<unknown>>();
  describe("also where two locks share one place, and with slow work", () => {
    lockContract(test, () => queueLock(tails), { shared: true, slowWorkMs: 30 });
  });
});

describe("the contract catches a lock that", () => {
  const broken: [string, () => Lock, RegExp][] = [
    ["does not exclude", () => (_key, work) => work(), /never lets two in/],
    ["lets the third in", () => lockFor(2), /never lets two in/],
    ["is one lock for all keys", () => oneLockForAll(), /another key is free/],
    ["stays taken after an error", () => leakyLock(), /stayed|reaches the caller as it is/],
    ["wraps the error of the work", () => wrappingLock(), /reaches the caller as it is/],
    ["answers nothing", () => muteLock(), /answers what the work answered/],
    ["does the work twice", () => eagerLock(), /does the work once/],
    ["lets go before the work has ended", () => hastyLock(), /starts only after/],
    ["does the work, and answers with something else", () => greedyLock(), /who waits is answered once/],
    ["takes nothing for something", () => easyLock(), /who waits is answered once/],
    ["gives up on some who wait", () => impatientLock(), /lets everybody in/],
    ["throws a retry away when a key is odd", () => pickyLock(), /takes a key/],
  ];
  for (const [what, make, expected] of broken) {
    test(what, async () => {
      const failures = await failuresOf((declare) => lockContract(declare, make, { handoverMs: 20 }));
      expect(failures.join("\n")).toMatch(expected);
    });
  }

  test("has a lease that work can outlast", async () => {
    const failures = await failuresOf((declare) =>
      lockContract(declare, () => leaseLock(5), { slowWorkMs: 40 }),
    );
    expect(failures).toContain("lock: work of 40 ms keeps the lock to its end");
  });

  test("shares nothing although it said so", async () => {
    const failures = await failuresOf((declare) =>
      lockContract(declare, () => queueLock(), { shared: true }),
    );
    expect(failures).toEqual(["lock: two locks on the same place exclude each other"]);
  });
});

test("all keys are made up: two runs have none in common", async () => {
  const runs = [new Set<string>(), new Set<string>()] as const;
  for (const keys of runs) {
    const lock = queueLock();
    const noting: Lock = (key, work) => {
      keys.add(key);
      return lock(key, work);
    };
    expect(await failuresOf((declare) => lockContract(declare, () => noting, { shared: true }))).toEqual([]);
    expect(keys.size).toBeGreaterThan(30);
  }
  expect([...runs[0]].filter((key) => runs[1].has(key))).toEqual([]);
});

/** A lock of a few lines: everybody waits for the one before. */
function queueLock(tails: Map<string, Promise<unknown>> = new Map()): Lock {
  return (key, work) => {
    const turn = (tails.get(key) ?? Promise.resolve()).then(async () => work());
    tails.set(
      key,
      turn.catch(() => {}),
    );
    return turn;
  };
}

const oneLockForAll =
  (lock = queueLock()): Lock =>
  (_key, work) =>
    lock("all", work);

function lockFor(most: number): Lock {
  let next = 0;
  const locks = Array.from({ length: most }, () => queueLock());
  return (key, work) => {
    next += 1;
    return (locks[next % most] as Lock)(key, work);
  };
}

function leakyLock(lock = queueLock()): Lock {
  const stuck = new Set<string>();
  return (key, work) =>
    lock(key, async () => {
      if (stuck.has(key)) await new Promise(() => {});
      return work().catch((error) => {
        stuck.add(key);
        throw error;
      });
    });
}

function wrappingLock(lock = queueLock()): Lock {
  return (key, work) => lock(key, work).catch((cause) => Promise.reject(new Error("lock failed", { cause })));
}

const muteLock =
  (lock = queueLock()): Lock =>
  (key, work) =>
    lock(key, work).then(() => undefined as never);

function eagerLock(lock = queueLock()): Lock {
  return (key, work) => lock(key, async () => work().then(() => work()));
}

function greedyLock(lock = queueLock()): Lock {
  return (key, work, instead) =>
    lock(key, async () => work().then(async (done) => (await instead?.()) ?? done));
}

function easyLock(lock = queueLock()): Lock {
  return (key, work, instead) => lock(key, async () => (instead ? ((await instead()) as never) : work()));
}

function hastyLock(lock = queueLock()): Lock {
  return <T>(key: string, work: () => Promise<T>) =>
    new Promise<T>((resolve, reject) => {
      void lock(key, async () => void work().then(resolve, reject));
    });
}

function impatientLock(lock = queueLock()): Lock {
  let waiting = 0;
  return (key, work) => {
    waiting += 1;
    if (waiting > 8) return Promise.reject(new Error("too many wait"));
    return lock(key, work).finally(() => {
      waiting -= 1;
    });
  };
}

function pickyLock(lock = queueLock()): Lock {
  return async (key, work) => {
    if (!/^[\w-]+$/.test(key)) throw new Error("odd key");
    return lock(key, work);
  };
}

function leaseLock(leaseMs: number): Lock {
  const tails = new Map<string, Promise<unknown>>();
  return (key, work) => {
    const turn = (tails.get(key) ?? Promise.resolve()).then(async () => work());
    const lease = new Promise((resolve) => setTimeout(resolve, leaseMs));
    tails.set(key, Promise.race([turn.catch(() => {}), lease]));
    return turn;
  };
}

async function failuresOf(declare: (test: (name: string, run: () => Promise<void>) => void) => void) {
  const declared: { name: string; run: () => Promise<void> }[] = [];
  declare((name, run) => declared.push({ name, run }));
  const failures: string[] = [];
  for (const { name, run } of declared) await run().catch(() => failures.push(name));
  return failures;
}
