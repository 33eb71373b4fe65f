// Takes a lock in a process of its own, says so, works, and says what came of it. Then it ends by itself.
import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";
import { asker } from "../dist/driver.js";
import { createLock } from "../dist/lock.js";
import { createKeys } from "../dist/schema.js";

const [url, prefix, key, leaseMs, workMs] = process.argv.slice(2);
const client = new Redis(url);
const lock = createLock(asker(client), createKeys(prefix), Number(leaseMs));
const result = await lock(key, async () => {
  console.log("held");
  await sleep(Number(workMs));
  return "done";
});
console.log(result);
client.disconnect();
