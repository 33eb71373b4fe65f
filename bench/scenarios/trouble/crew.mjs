import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { startCommanded } from "../../lib/process.mjs";

const WORKER = new URL("worker.mjs", import.meta.url);
const PROCESSES = 4;
/** As long as orchestrators wait by default before they kill. */
const GRACE_MS = 30_000;

/**
 * The four processes of one contestant.
 *
 * @param input what each process is started with.
 * @param retailers whose bearers they ask for.
 */
export async function crewOf(input, retailers, seed) {
  const total = { calls: 0, failed: 0, longestMs: 0, why: {} };
  const crew = [];
  let [isCalling, started] = [false, 0];

  const start = async (index) => {
    started += 1;
    const name = `${input.file}-${started}`;
    const worker = { name, ...(await startCommanded(WORKER, { ...input, name })) };
    worker.child.on("message", ({ left }) => left && add(left));
    crew[index] = worker;
    if (isCalling) await worker.ask("callOften", { retailers, seed: seed * PROCESSES + index });
  };
  const replace = async (index, signal) => {
    const { child } = crew[index];
    crew[index] = undefined;
    const killing = setTimeout(() => child.kill("SIGKILL"), GRACE_MS);
    child.kill(signal);
    await once(child, "exit");
    clearTimeout(killing);
    await start(index);
  };
  const everybody = (name, argument) =>
    Promise.all(crew.map((worker, index) => worker?.ask(name, argument?.(index))));

  for (let index = 0; index < PROCESSES; index += 1) await start(index);
  await crew[0].ask("migrate");

  return {
    logIn: (logins) => crew.find(Boolean).ask("logIn", logins),
    async call() {
      isCalling = true;
      await everybody("callOften", (index) => ({ retailers, seed: seed * PROCESSES + index }));
    },
    async rest() {
      isCalling = false;
      await everybody("rest");
    },
    async count() {
      // One of them may have been killed meanwhile.
      for (const one of crew.filter(Boolean)) one.ask("counts").then(add, () => {});
    },
    /** @returns the name of the process that is gone. */
    async kill(index) {
      const { name } = crew[index];
      await replace(index, "SIGKILL");
      return name;
    },
    async restart() {
      for (let index = 0; index < PROCESSES; index += 1) await replace(index, "SIGTERM");
    },
    signal: (index, signal) => crew[index].child.kill(signal),
    /** Who gets no good bearer from any process, however often they ask in this time. */
    async lost(forMs) {
      const until = Date.now() + forMs;
      let left = retailers;
      while (left.length > 0 && Date.now() < until) {
        const good = new Set((await everybody("served", () => left)).flat());
        left = left.filter((retailer) => !good.has(retailer));
        await sleep(1000);
      }
      return left;
    },
    total: () => ({ ...total }),
    close() {
      for (const worker of crew) worker?.child.kill("SIGKILL");
    },
  };

  function add({ calls, failed, longestMs, why }) {
    total.calls += calls;
    total.failed += failed;
    for (const [error, times] of Object.entries(why)) total.why[error] = (total.why[error] ?? 0) + times;
    total.longestMs = Math.max(total.longestMs, longestMs);
  }
}
