// One more process on the same file: `node worker.mjs <task> <file> ...`. It says what happens over IPC.
import { appendFileSync } from "node:fs";
import Database from "libsql";
import { asker } from "../dist/driver.js";
import { sqliteTokens } from "../dist/index.js";
import { createLock } from "../dist/lock.js";
import { tablesAt } from "../dist/schema.js";

const [task, file, ...args] = process.argv.slice(2);
const database = new Database(file);
const turns = async (count) => {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

/** All start at the same time, when they are told to. */
const start = async () => {
  process.send("ready");
  await new Promise((resolve) => process.once("message", resolve));
};

const tasks = {
  /** Makes the tables at the same time as others, and saves one set. */
  async make(retailer) {
    await start();
    const { store } = sqliteTokens({ database });
    await store.save(setOf(retailer, 0));
  },

  /** Many callers, one after the other under the lock; each leaves two lines in the log. */
  async exclude(log, callers) {
    const { lock } = sqliteTokens({ database });
    await start();
    const work = async () => {
      appendFileSync(log, "in\n");
      await new Promise((resolve) => setTimeout(resolve, 2)); // long enough for others to get in
      appendFileSync(log, "out\n");
    };
    await Promise.all(Array.from({ length: Number(callers) }, () => lock("shop", work)));
  },

  /** Adds one to a stored number, many times, with nothing but compare-and-set against the others. */
  async count(times) {
    const { store } = sqliteTokens({ database });
    await start();
    const addOne = async () => {
      for (;;) {
        const held = await store.load("shop");
        await turns(1);
        if (await store.save(setOf("shop", held.issuedAt + 1), held)) return;
      }
    };
    await Promise.all(Array.from({ length: Number(times) }, addOne));
  },

  /** Takes the lock and never lets go. */
  async hold(key, leaseMs) {
    sqliteTokens({ database });
    const lock = createLock(asker(database), tablesAt("retail_pos_tokens"), { leaseMs: Number(leaseMs) });
    await lock(key, () => {
      process.send("held");
      return new Promise(() => setInterval(() => {}, 1000));
    });
  },

  /** Saves one set after the other, until somebody ends it. */
  async save() {
    const { store } = sqliteTokens({ database });
    for (let issuedAt = 1; ; issuedAt += 1) {
      await store.save(setOf("shop", issuedAt));
      if (issuedAt === 5) process.send("saving");
      await turns(1);
    }
  },
};

await tasks[task](...args);
database.close();
process.disconnect();

function setOf(domainPrefix, issuedAt) {
  const version = `${process.pid}-${issuedAt}-${Math.random()}`;
  return {
    domainPrefix,
    access: { value: `access-${version}`, expiresAt: issuedAt + 1 },
    refreshToken: `refresh-${version}`,
    issuedAt,
    version,
  };
}
