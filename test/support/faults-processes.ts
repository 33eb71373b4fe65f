import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";

/** What came of the calls of one process. */
export interface LoadReport {
  served: number;
  failures: Failure[];
}

export interface Failure {
  /** The error's code, `api <status>` for an answer of the API, else `untyped`. */
  reason: string;
  message: string;
  /** Whether the process held a live token when it let the caller down. */
  wasNeedless: boolean;
}

/** A real process of the application, on the built packages. */
export interface Process {
  setTime(now: number): Promise<void>;
  logIn(retailer: string, code: string | null): Promise<void>;
  load(retailers: readonly string[]): Promise<LoadReport>;
  /** One token of each; "" where there is none. */
  tokens(retailers: readonly string[]): Promise<string[]>;
  stop(): Promise<void>;
}

const worker = fileURLToPath(new URL("faults-worker.mjs", import.meta.url));

/** `unsaved` is told of each retailer whose new tokens only this process has. */
export async function startProcess(
  env: Record<string, string>,
  unsaved: (retailer: string) => void,
): Promise<Process> {
  const child = fork(worker, { execArgv: [], env: { ...process.env, ...env } });
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const ask = asker(child);
  child.on("message", ({ event, retailer }: { event?: string; retailer?: string }) => {
    if (event === "unsaved" && retailer !== undefined) unsaved(retailer);
  });
  await new Promise<void>((resolve, reject) => {
    child.once("message", () => resolve());
    child.once("exit", (code) => reject(new Error(`the process ended with ${code}`)));
  });
  return {
    setTime: (now) => ask("setTime", now),
    logIn: (retailer, code) => ask("logIn", [retailer, code]),
    load: (retailers) => ask("load", retailers),
    tokens: (retailers) => ask("tokens", retailers),
    async stop() {
      if (child.connected) await ask("close");
      await ended;
    },
  };
}

function asker(child: ChildProcess) {
  const waiting = new Map<number, (answer: { result?: unknown; error?: string }) => void>();
  let lastId = 0;
  child.on("message", (answer: { id?: number; result?: unknown; error?: string }) => {
    waiting.get(answer.id ?? 0)?.(answer);
    waiting.delete(answer.id ?? 0);
  });
  child.once("exit", (code) => {
    for (const answer of waiting.values()) answer({ error: `the process ended with ${code}` });
  });
  return <T>(command: string, argument?: unknown): Promise<T> =>
    new Promise((resolve, reject) => {
      lastId += 1;
      waiting.set(lastId, ({ result, error }) =>
        error === undefined ? resolve(result as T) : reject(new Error(error)),
      );
      child.send({ id: lastId, command, argument });
    });
}
