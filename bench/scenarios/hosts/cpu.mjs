// The CPU time of a call, in turns over so many hosts.
import { answering } from "../../lib/process.mjs";
import { median } from "../../lib/rounds.mjs";
import { callers } from "./callers.mjs";
import { prefixOf, templateAt } from "./lookup.mjs";

const AT_ONCE = 4;

answering(async ({ caller, port, hosts, calls, batches }) => {
  const call = await callers[caller](templateAt(port));
  let next = 0;
  await batch(Math.max(calls, hosts)); // every host once, and V8 has compiled
  const took = [];
  for (let done = 0; done < batches; done += 1) took.push(await batch(calls));
  return median(took);

  async function batch(count) {
    let left = count;
    const before = process.cpuUsage();
    await Promise.all(Array.from({ length: AT_ONCE }, goOn));
    const { user, system } = process.cpuUsage(before);
    return (user + system) / count;

    async function goOn() {
      while (left > 0) {
        left -= 1;
        next += 1;
        await call(prefixOf(next % hosts), "/api/products");
      }
    }
  }
});
