// One call to each of so many hosts: what the heap holds of them after so many milliseconds of nothing.
import { answering } from "../../lib/process.mjs";
import { callers } from "./callers.mjs";
import { prefixOf, templateAt } from "./lookup.mjs";

const AT_ONCE = 20;
/** Called before the first look: libraries are loaded, code is compiled. */
const WARM_UPS = 100;

answering(async ({ caller, port, hosts, idleMs }) => {
  const call = await callers[caller](templateAt(port));
  await callAll(hosts, WARM_UPS);
  await idle(idleMs);
  const before = await heapUsed();
  await callAll(0, hosts);
  await idle(idleMs);
  return { bytes: ((await heapUsed()) - before) / hosts };

  async function callAll(first, count) {
    for (let store = first; store < first + count; store += AT_ONCE) {
      const together = Array.from({ length: AT_ONCE }, (_, more) =>
        call(prefixOf(store + more), "/api/products"),
      );
      await Promise.all(together);
    }
  }
});

const idle = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** What finalizers let go is free only in the next collection. */
async function heapUsed() {
  for (let collection = 0; collection < 6; collection += 1) {
    globalThis.gc();
    await idle(50);
  }
  return process.memoryUsage().heapUsed;
}
