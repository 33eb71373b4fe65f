// Takes a lock in a process of its own, says so, works, and says what came of it. Then it ends by itself.
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { asker } from "../dist/driver.js";
import { createLock } from "../dist/lock.js";
import { tablesAt } from "../dist/schema.js";

const [url, table, key, leaseMs, workMs] = process.argv.slice(2);
const pool = new pg.Pool({ connectionString: url, max: 2 });
const lock = createLock(asker(pool), tablesAt(table), Number(leaseMs));
const result = await lock(key, async () => {
  console.log("held");
  await sleep(Number(workMs));
  return "done";
});
console.log(result);
await pool.end();
