import { type ChildProcess, fork } from "node:child_process";
import { createHash } from "node:crypto";
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { root } from "../support/sources.js";
import { type Done, type Job, jobsOf } from "./jobs.js";
import type { Found } from "./runs.js";
import { SCENARIOS, scenarioNamed } from "./stories.js";

const TOLD_EVERY_MS = 10_000;

/** What a long run came to. */
export interface LongRun {
  readonly done: readonly Done[];
  readonly found: Found | undefined;
}

/**
 * Does the jobs of a run on all processors. What is done is noted in a file of `node_modules/.explore`, by the text of
 * core and of the explorer: the same command goes on where it was interrupted, and starts anew after a change.
 */
export async function longRun(schedules: number, seed: number, coreText: string): Promise<LongRun> {
  const notes = notesFor(`${schedules} ${seed} ${coreText} ${readFileSync(import.meta.filename)}`);
  const done = notes.read();
  const names = new Set(done.map(({ name }) => name));
  const jobs = jobsOf(schedules, seed).filter(({ name }) => !names.has(name));
  const toldBefore = done.length > 0 ? `, ${done.length} of its jobs were done before` : "";
  console.log(`${jobs.length} jobs${toldBefore}; noted in ${notes.file.slice(root.length)}`);
  const progress = startProgress(schedules, done);
  const workers = Array.from({ length: Math.min(availableParallelism(), jobs.length) }, () =>
    fork(`${root}scripts/run.mjs`, ["test/explore/worker.ts"], { cwd: root }),
  );
  const note = (one: Done) => {
    if (one.found) jobs.length = 0;
    else notes.add(one);
    done.push(one);
  };
  try {
    await Promise.all(workers.map((worker) => work(worker, jobs, note)));
  } finally {
    progress.end();
    for (const worker of workers) if (worker.connected) worker.disconnect();
  }
  const found = done.find((one) => one.found)?.found;
  return { done, found: found && { ...found, scenario: scenarioNamed(found.scenario) } };
}

/** For docs/guarantees.md. */
export function tableOf({ done }: LongRun): string {
  const isWalk = ({ name }: Done) => name.startsWith("walks ");
  const sum = (of: readonly Done[], what: "schedules" | "states") =>
    of.reduce((total, one) => total + one[what], 0).toLocaleString("en");
  const [searched, walked] = [done.filter((one) => !isWalk(one)), done.filter(isWalk)];
  const broken = (of: readonly Done[]) => of.filter(({ found }) => found).length;
  return [
    "| | scenarios | schedules | states | broken promises |\n|---|---|---|---|---|",
    `| searched | ${SCENARIOS.length} | ${sum(searched, "schedules")} | ${sum(searched, "states")} | ${broken(searched)} |`,
    `| walked by chance | made up, one for 20 walks | ${sum(walked, "schedules")} | | ${broken(walked)} |`,
    `| together | | ${sum(done, "schedules")} | ${sum(done, "states")} | ${broken(done)} |`,
  ].join("\n");
}

/** Sends the next job whenever the last is done. */
function work(worker: ChildProcess, jobs: Job[], note: (done: Done) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    worker.on("message", (message: "ready" | Done) => {
      if (message !== "ready") note(message);
      const job = jobs.shift();
      if (job) worker.send(job);
      else resolve();
    });
    worker.on("error", reject);
    worker.on("exit", (code) => reject(new Error(`A process of the run ended with code ${code}`)));
  });
}

interface Notes {
  readonly file: string;
  read(): Done[];
  add(done: Done): void;
}

function notesFor(what: string): Notes {
  const folder = `${root}node_modules/.explore/`;
  mkdirSync(folder, { recursive: true });
  const file = `${folder}${createHash("sha256").update(what).digest("hex").slice(0, 12)}.jsonl`;
  return {
    file,
    read() {
      if (!existsSync(file)) return [];
      const lines = readFileSync(file, "utf8").split("\n").slice(0, -1);
      writeFileSync(file, lines.map((line) => `${line}\n`).join("")); // without one that was cut off
      return lines.map((line) => JSON.parse(line) as Done);
    },
    add: (done) => appendFileSync(file, `${JSON.stringify(done)}\n`),
  };
}

function startProgress(schedules: number, done: readonly Done[]): { end(): void } {
  const count = () => done.reduce((total, one) => total + one.schedules, 0);
  const [startedAt, before] = [performance.now(), count()];
  const timer = setInterval(() => {
    const rate = (count() - before) / ((performance.now() - startedAt) / 1000);
    const left = rate > 0 ? `, ${Math.ceil((schedules - count()) / rate / 60)} minutes left` : "";
    console.log(`${count()} of ${schedules} schedules, ${Math.round(rate)} a second${left}`);
  }, TOLD_EVERY_MS);
  return { end: () => clearInterval(timer) };
}
