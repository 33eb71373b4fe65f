import cluster, { type Worker } from "node:cluster";
import { setTimeout as pause } from "node:timers/promises";
import { engineOf } from "./engine.js";
import type { Settings } from "./settings.js";

const MOST_STARTS = 10;
const MINUTE_MS = 60_000;

/** Prepares what the workers share, starts them, and puts a new one in the place of each that dies. */
export async function startWorkers(settings: Settings): Promise<void> {
  await engineOf(settings).prepare(settings);
  const stopped = new AbortController();
  const replacements: number[] = [];
  let listening = 0;

  cluster.on("listening", (worker, { port }) => {
    console.log(`${nameOf(worker)} is listening on port ${port}`);
    listening += 1;
    if (listening === settings.workers) console.log(`Open http://localhost:${port}`);
  });

  cluster.on("exit", (worker, code, signal) => {
    if (stopped.signal.aborted) return;
    console.error(`${nameOf(worker)} died: ${signal ?? `exit code ${code}`}`);
    // What stops the first worker would stop every other: nothing is mended by trying again.
    if (listening === 0) return stop(1);
    void replace();
  });

  async function replace(): Promise<void> {
    const now = Date.now();
    const startAt = nextStartAt(replacements, now);
    replacements.push(startAt);
    if (startAt > now) console.error(`Too many have died: the next starts in ${startAt - now} ms`);
    await pause(startAt - now, undefined, { signal: stopped.signal }).then(() => cluster.fork(), ignore);
  }

  /** Workers finish what is under way; when the last has ended, nothing keeps the primary. */
  function stop(exitCode = 0): void {
    process.exitCode = exitCode;
    stopped.abort();
    for (const worker of Object.values(cluster.workers ?? {})) worker?.process.kill("SIGTERM");
  }

  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop());
  for (let count = 0; count < settings.workers; count += 1) cluster.fork();
}

/** When the next worker may take a place: with many deaths in a row, no more than ten start in a minute. */
export function nextStartAt(earlier: readonly number[], now: number): number {
  const tenthLast = earlier.at(-MOST_STARTS);
  return tenthLast === undefined ? now : Math.max(now, tenthLast + MINUTE_MS);
}

const nameOf = ({ id, process }: Worker) => `Worker ${id} (process ${process.pid})`;
const ignore = () => {};
