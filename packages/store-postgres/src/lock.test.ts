import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { lockContract } from "@retail-pos/store-contracts";
import type pg from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { canRun, connect, oldest, schema, setUp, tearDown, url } from "../testing/postgres.js";
import { type Ask, asker } from "./driver.js";
import { postgresTokens } from "./index.js";
import { createLock } from "./lock.js";
import { tablesAt } from "./schema.js";

const table = `${schema}.tokens`;
const locks = `${table}_lock`;

describe.skipIf(!canRun)("a lock on PostgreSQL", () => {
  let pool: pg.Pool;
  beforeAll(async () => {
    await setUp();
    pool = connect();
    await postgresTokens({ pool, table }).migrate();
  });
  afterAll(async () => {
    expect((await pool.query(`SELECT * FROM ${locks}`)).rows).toEqual([]);
    await tearDown();
  });

  lockContract(test, () => postgresTokens({ pool, table }).lock, { shared: true });
  // Work that outlasts the lease, with a lease short enough to be outlasted here.
  lockContract(
    (name, run) => (name.includes("another process") ? test(`short lease, ${name}`, run) : undefined),
    () => createLock(asker(pool), tablesAt(table), 500),
    { shared: true, slowWorkMs: 1100 },
  );

  describe("through a pool of one connection", () => {
    let one: pg.Pool;
    beforeAll(() => {
      one = connect({ max: 1 });
    });
    lockContract(test, () => postgresTokens({ pool: one, table }).lock, { shared: true });
  });

  describe("through pg 8.0.3", () => {
    let old: pg.Pool;
    beforeAll(() => {
      old = connect({}, oldest);
    });
    lockContract(test, () => postgresTokens({ pool: old, table }).lock, { shared: true });
  });

  describe("whose default isolation is serializable", () => {
    let strict: pg.Pool;
    beforeAll(() => {
      strict = connect({ options: "-c default_transaction_isolation=serializable" });
    });
    lockContract(test, () => postgresTokens({ pool: strict, table }).lock, { shared: true });
  });

  test("fifty retailers at once go through a pool of two, which stays free for their work", async () => {
    const two = connect({ max: 2 });
    const { lock } = postgresTokens({ pool: two, table });
    let inside = 0;
    let all = () => {};
    const everybodyIsIn = new Promise<void>((resolve) => {
      all = resolve;
    });
    const work = Array.from({ length: 50 }, (_, index) =>
      lock(`id/retailer-${index}`, async () => {
        inside += 1;
        if (inside === 50) all();
        await everybodyIsIn;
        return (await two.query("SELECT $1::int AS answer", [index])).rows[0].answer;
      }),
    );
    expect(await Promise.all(work)).toEqual(Array.from({ length: 50 }, (_, index) => index));
  });

  describe("as a lease", () => {
    const leaseMs = 300;
    let children: ChildProcess[] = [];
    afterEach(() => {
      for (const child of children) child.kill("SIGKILL");
      children = [];
    });
    const lock = (ask: Ask = asker(pool), ms = leaseMs) => createLock(ask, tablesAt(table), ms);
    const ownerOf = async (key: string) =>
      (await pool.query(`SELECT owner FROM ${locks} WHERE key = $1`, [key])).rows[0]?.owner;

    test("of a killed process ends by itself", async () => {
      const owner = await holder("killed", 60_000);
      owner.child.kill("SIGKILL");
      expect(await lock()("killed", async () => "mine now")).toBe("mine now");
    });

    test("lost in a paused process: its work ends well, and the next owner's lock is left alone", async () => {
      const owner = await holder("paused", 200);
      owner.child.kill("SIGSTOP");
      await lock()("paused", async () => {
        const mine = await ownerOf("paused");
        owner.child.kill("SIGCONT");
        await owner.ended; // it has worked to its end and released what it could
        expect(owner.said).toEqual(["held", "done"]);
        expect(await ownerOf("paused")).toBe(mine);
      });
    });

    test("that was written before the database's clock was set back is over", async () => {
      const inAnHour = "clock_timestamp() + interval '1 hour'";
      await pool.query(`INSERT INTO ${locks} (key, owner, ends_at) VALUES ('back', 'killed', ${inAnHour})`);
      expect(await lock()("back", async () => "mine now")).toBe("mine now");
    });

    test("that was lost is neither extended nor released", async () => {
      let seized: unknown[] = [];
      const result = await lock()("lost", async () => {
        const seize = `UPDATE ${locks} SET owner = 'somebody else' WHERE key = 'lost' RETURNING *`;
        seized = (await pool.query(seize)).rows;
        await sleep(leaseMs); // time for an extension
        return "worked";
      });
      expect(result).toBe("worked");
      const { rows } = await pool.query(`DELETE FROM ${locks} WHERE key = 'lost' RETURNING *`);
      expect(seized).toHaveLength(1);
      expect(rows).toEqual(seized);
    });

    test("lasts through cut connections", async () => {
      const own = connect({ max: 2 });
      const events: string[] = [];
      let waiter: Promise<unknown> | undefined;
      await lock(asker(own))("cut", async () => {
        waiter = lock()("cut", async () => events.push("waiter"));
        const { rows } = await own.query("SELECT pg_backend_pid() AS pid");
        await pool.query("SELECT pg_terminate_backend($1)", [rows[0].pid]);
        await sleep(leaseMs * 2.5);
        events.push("worked");
      });
      await waiter;
      expect(events).toEqual(["worked", "waiter"]);
    });

    test("runs on the database's clock: one that ended an hour ago is free, one that ends soon is not", async () => {
      await pool.query(
        `INSERT INTO ${locks} VALUES ('past', 'dead', now() - interval '1 hour'), ('future', 'alive', now() + interval '30 seconds')`,
      );
      expect(await lock()("past", async () => "free")).toBe("free");
      let started = false;
      const waiting = lock()("future", async () => {
        started = true;
      });
      for (let round = 0; round < 5; round += 1) await lock()("past", async () => {});
      expect(started).toBe(false);
      await pool.query(`DELETE FROM ${locks} WHERE key = 'future'`);
      await waiting;
    });

    test("asking for one that is held writes nothing", async () => {
      const rowNow = async () =>
        (await pool.query(`SELECT xmin, xmax, ctid FROM ${locks} WHERE key = 'asked'`)).rows;
      let asked = 0;
      let rival: Promise<unknown> | undefined;
      await lock(asker(pool), 60_000)("asked", async () => {
        const before = await rowNow();
        await new Promise<void>((resolve) => {
          const counting: Ask = async (...question) => {
            const answer = await asker(pool)(...question);
            if (++asked === 3) resolve();
            return answer;
          };
          rival = lock(counting, 60_000)("asked", async () => {});
        });
        expect(await rowNow()).toEqual(before);
      });
      await rival;
    });

    test("is taken by the same owner twice when its answer was lost and the question repeated", async () => {
      const ask = asker(pool);
      const twice = lock(async (...asked) => {
        await ask(...asked);
        return ask(...asked);
      }, 60_000);
      expect(await twice("twice", async () => "taken")).toBe("taken");
    });

    test("in a database that cannot be reached rejects, saying so", async () => {
      const { lock, store, migrate } = postgresTokens({
        pool: connect({ connectionString: "postgresql://127.0.0.1:1/none" }),
      });
      await expect(lock("id/retailer", async () => {})).rejects.toMatchObject({
        code: "store_failed",
        operation: "lock",
        message: expect.stringMatching(/^PostgreSQL could not take the lock id\/retailer: .*ECONNREFUSED/),
      });
      await expect(store.load("retailer" as never)).rejects.toMatchObject({
        code: "store_failed",
        operation: "load",
        status: 503,
        cause: { code: "ECONNREFUSED" },
      });
      await expect(migrate()).rejects.toMatchObject({ code: "ECONNREFUSED" });
    });

    /** A process of its own that holds the lock; resolves once it does. */
    async function holder(key: string, workMs: number) {
      const program = fileURLToPath(new URL("../testing/holder.mjs", import.meta.url));
      const child = spawn(process.execPath, [program, url, table, key, String(leaseMs), String(workMs)], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      children.push(child);
      const said: string[] = [];
      const lines = createInterface(child.stdout);
      lines.on("line", (line) => said.push(line));
      const ended = once(child, "close");
      await Promise.race([once(lines, "line"), ended]);
      expect(said).toEqual(["held"]);
      return { child, said, ended };
    }
  });
});
