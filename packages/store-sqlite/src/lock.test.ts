import type { Lock } from "@retail-pos/core";
import { lockContract } from "@retail-pos/store-contracts";
import { afterAll, describe, expect, test } from "vitest";
import { databases } from "../testing/databases.js";
import { asker } from "./driver.js";
import { type SqliteDatabase, sqliteTokens } from "./index.js";
import { type LockOptions, createLock as lockOnAsk } from "./lock.js";
import { tablesAt } from "./schema.js";

const here = databases();
const tables = tablesAt("retail_pos_tokens");
afterAll(here.end);

const shared = here.newFile();

describe("as applications have it", () => {
  lockContract(test, () => sqliteTokens({ database: here.open(shared) }).lock, { shared: true });
});
describe("with a lease that work outlasts", () => {
  lockContract(test, () => createLock(shared, { leaseMs: 500 }), { shared: true, slowWorkMs: 1100 });
});
describe("in memory", () => {
  lockContract(test, () => sqliteTokens({ database: here.open(":memory:") }).lock);
});

describe("a lease", () => {
  test("that nobody extends is free when it is over", async () => {
    let now = 1000;
    const file = here.newFile();
    const [dead, next] = [createLock(file, { clock: () => now }), createLock(file, { clock: () => now })];
    const held = gate();
    const never = dead("shop", () => held.opened);
    let started = false;
    const waiter = next("shop", async () => {
      started = true;
    });
    await next("another", async () => {});
    expect(started).toBe(false);
    now += 15_001; // the owner's timer runs on real time: to this clock it is dead
    await waiter;
    held.open();
    await never;
  });

  test("taken over after it ran out is not ended by its first owner", async () => {
    let now = 1000;
    const file = here.newFile();
    const [slow, next, third] = [1, 2, 3].map(() => createLock(file, { clock: () => now })) as [
      Lock,
      Lock,
      Lock,
    ];
    const [slowWork, nextWork] = [gate(), gate()];
    const [slowBegun, begun] = [gate(), gate()];
    const slowEnd = slow("shop", () => {
      slowBegun.open();
      return slowWork.opened;
    });
    await slowBegun.opened;
    now += 15_001;
    const nextEnd = next("shop", () => {
      begun.open();
      return nextWork.opened;
    });
    await begun.opened;
    slowWork.open();
    await slowEnd;
    let started = false;
    const waiter = third("shop", async () => {
      started = true;
    });
    await third("another", async () => {});
    expect([started, rowsIn(file)]).toEqual([false, 1]);
    nextWork.open();
    await Promise.all([nextEnd, waiter]);
    expect(rowsIn(file)).toBe(0);
  });

  test("from before the clock was set back counts as over", async () => {
    const file = here.newFile();
    const ahead = createLock(file, { clock: () => 10_000_000 });
    const held = gate();
    const never = ahead("shop", () => held.opened);
    expect(await createLock(file, { clock: () => 1_000_000 })("shop", async () => "free")).toBe("free");
    held.open();
    await never;
  });

  test("is taken by the same owner twice when its answer was lost and the question repeated", async () => {
    const database = here.open();
    sqliteTokens({ database });
    let times = 0;
    const repeating = watched(database, (sql, ask) => {
      const answer = ask();
      if (!/^\s*INSERT/.test(sql) || times++ > 0) return answer;
      throw Object.assign(new Error("interrupted"), { code: "SQLITE_BUSY" });
    });
    const lock = lockOnAsk(asker(repeating), tables);
    expect(await lock("shop", async () => "taken")).toBe("taken");
    expect(times).toBe(2);
  });

  test("of somebody else is asked for without a write, so that no writer is in the way", async () => {
    const file = here.newFile();
    const [held, begun, asked] = [gate(), gate(), gate()];
    const owner = createLock(file)("shop", () => {
      begun.open();
      return held.opened;
    });
    await begun.opened;
    const writer = here.open(file);
    writer.exec("BEGIN IMMEDIATE");
    const database = here.open(file);
    database.exec("PRAGMA busy_timeout = 0");
    let times = 0;
    const counting = watched(database, (sql, ask) => {
      if (/^SELECT/.test(sql) && ++times === 3) asked.open();
      return ask();
    });
    const waiter = lockOnAsk(asker(counting), tables)("shop", async () => "had");
    await Promise.race([asked.opened, waiter]);
    writer.exec("COMMIT");
    held.open();
    await owner;
    expect(await waiter).toBe("had");
  });

  test("edited into nonsense counts as over", async () => {
    const file = here.newFile();
    const lock = createLock(file);
    here.open(file).exec("INSERT INTO retail_pos_tokens_lock VALUES ('shop', 'somebody', 'soon')");
    expect(await lock("shop", async () => "free")).toBe("free");
  });
});

describe("when SQLite fails", () => {
  test("a lock that cannot be had is an error, and the work is not done", async () => {
    const file = here.newFile();
    const lock = createLock(file);
    here.open(file).exec("DROP TABLE retail_pos_tokens_lock");
    await expect(lock("shop", () => expect.unreachable("no lock, no work"))).rejects.toThrow(
      'SQLite could not take the lock "shop": no such table',
    );
  });
});

test("nothing stays in the table when everybody is done", async () => {
  const file = here.newFile();
  const lock = createLock(file);
  await Promise.all(Array.from({ length: 30 }, (_, index) => lock(`shop-${index % 3}`, async () => {})));
  expect(rowsIn(file)).toBe(0);
});

function createLock(file: string, options?: LockOptions): Lock {
  const database = here.open(file);
  sqliteTokens({ database });
  return lockOnAsk(asker(database), tables, options);
}

/** The same database; `watch` runs its statements. */
function watched(
  database: SqliteDatabase,
  watch: (sql: string, ask: () => unknown) => unknown,
): SqliteDatabase {
  return {
    exec: (sql) => database.exec(sql),
    prepare(sql) {
      const statement = database.prepare(sql);
      return {
        get: (...values) => watch(sql, () => statement.get(...values)),
        all: (...values) => watch(sql, () => statement.all(...values)) as unknown[],
        run: (...values) => watch(sql, () => statement.run(...values)) as { changes: number },
      };
    },
  };
}

function rowsIn(file: string): number {
  const row = here.open(file).prepare("SELECT count(*) AS rows FROM retail_pos_tokens_lock").get();
  return (row as { rows: number }).rows;
}

function gate(): { opened: Promise<void>; open: () => void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}
