import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("worker.mjs", import.meta.url));
const running = new Set<ChildProcess>();

export interface Worker {
  /** The next thing it says; rejects when it ends first. */
  heard(): Promise<unknown>;
  tell(message: object): void;
  /** SIGKILL: no cleaning up, as when the power goes. */
  kill(): Promise<void>;
  /** Rejects when it failed, with what it printed. */
  ended: Promise<void>;
}

/** Another process, on the built packages. See `worker.mjs` for what it can do. */
export function startWorker(task: string, ...args: string[]): Worker {
  const child = spawn(process.execPath, [program, task, ...args], {
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  running.add(child);
  let printed = "";
  for (const stream of [child.stdout, child.stderr])
    stream?.on("data", (chunk) => {
      printed += chunk;
    });
  const closed = new Promise<number | null>((resolve) => child.once("close", resolve));
  const ended = closed.then((code) => {
    running.delete(child);
    if (code !== 0) throw new Error(`worker ${task} ended with ${code}: ${printed}`);
  });
  ended.catch(() => {});

  const unheard: unknown[] = [];
  let listener: ((message: unknown) => void) | undefined;
  child.on("message", (message) => {
    if (listener) listener(message);
    else unheard.push(message);
    listener = undefined;
  });
  return {
    heard: () =>
      unheard.length > 0
        ? Promise.resolve(unheard.shift())
        : Promise.race([
            new Promise((resolve) => {
              listener = resolve;
            }),
            ended.then(() => Promise.reject(new Error(`worker ${task} ended without a word: ${printed}`))),
          ]),
    tell: (message) => void child.send(message),
    async kill() {
      child.kill("SIGKILL");
      await closed;
    },
    ended,
  };
}

/** Several, which begin their task at the same time; resolves when all have ended well. */
export async function runTogether(workers: readonly Worker[]): Promise<void> {
  await Promise.all(workers.map((worker) => worker.heard()));
  for (const worker of workers) worker.tell({});
  await Promise.all(workers.map(({ ended }) => ended));
}

/** Nobody outlives the tests. */
export async function endWorkers(): Promise<void> {
  for (const child of running) child.kill("SIGKILL");
}
