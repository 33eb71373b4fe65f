import { type ChildProcess, fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { EventEmitter, once } from "node:events";
import { rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { RenewDueReport, TokenSet } from "@retail-pos/core";
import { type NamedStore, type Sandbox, startSandbox, virtualClock } from "@retail-pos/sandbox";
import type { SealedStoreOptions } from "@retail-pos/sealed-store";
import { Redis } from "ioredis";
import pg from "pg";
import { url as databaseUrl } from "../../packages/store-postgres/testing/postgres.js";
import { url as redisUrl } from "../../packages/store-redis/testing/redis.js";
import { sqliteFile } from "./engines.mjs";
import { type Way, wayTo } from "./outage.js";

/** Several processes of one application on one engine, beside a service that rotates every refresh token. */
export interface Application {
  readonly sandbox: Sandbox;
  /** What their keys or tables begin with, or their file. */
  readonly namespace: string;
  /** How the processes reach their engine. */
  readonly way: Way;
  /** Those that live. */
  processes(): Worker[];
  /** One more, perhaps with a sealed store. */
  start(sealing?: SealedStoreOptions): Promise<Worker>;
  /** Lets so much time pass, everywhere. */
  letPass(ms: number): Promise<void>;
  logIn(retailer: string): Promise<void>;
  /** Each once, the processes sharing the work. */
  logInAll(retailers: readonly string[]): Promise<void>;
  /** So many callers in each process. */
  callAll(retailer: string, callers: number): Promise<Called[]>;
  /** How the service answered the token requests of a retailer: statuses, or the fault that left one without. */
  answers(retailer: string): (number | string | undefined)[];
}

/** What became of some callers: how many were served, the different tokens, the different errors. */
export interface Called {
  readonly served: number;
  readonly values: string[];
  readonly errors: string[];
}

export interface Worker {
  call(retailer: string, callers: number): Promise<Called>;
  stored(retailer: string): Promise<TokenSet>;
  /** One call for each of many retailers: what became of all these callers. */
  callEach(retailers: readonly string[]): Promise<Called>;
  renewDue(ask?: { concurrency?: number }): Promise<RenewDueReport>;
  /** Aborts the signal of its `renewDue`. */
  stopRenewing(): Promise<unknown>;
  /** A command of `worker.mjs`. Rejects when the process ends before it answers. */
  ask(command: string, argument?: unknown): Promise<unknown>;
  /** The next time that it says so: an event of core's, or one of `worker.mjs`. Ask before the event can happen. */
  says(event: string): Promise<void>;
  /** What it has said so far. */
  readonly said: readonly string[];
  /** SIGSTOP: it stands still in the middle of whatever it does. */
  pause(): void;
  resume(): void;
  kill(): Promise<void>;
  isAlive(): boolean;
}

export interface ApplicationSettings {
  readonly engine: string;
  /** Who logs in at the start. */
  readonly retailers: readonly string[];
  /** How the processes reach the engine. Default: one that can be shut. */
  readonly way?: Way;
  /** Whom the service knows. Default: the sandbox's own. */
  readonly stores?: readonly NamedStore[];
  readonly lifetimeMs: number;
  /** How many. Default 3. */
  readonly processes?: number;
  /** Of a token request. Default: core's. */
  readonly timeoutMs?: number | undefined;
  /** Whether the processes say nothing after "ready". With thousands of requests, telling costs as much as doing. */
  readonly isQuiet?: boolean;
  readonly onTestFinished: (end: () => Promise<void>) => void;
}

const program = fileURLToPath(new URL("worker.mjs", import.meta.url));

/** Processes with every retailer logged in; all of it is gone when the test is over. */
export async function startApplication(settings: ApplicationSettings): Promise<Application> {
  const { engine, retailers, lifetimeMs, timeoutMs, onTestFinished } = settings;
  const clock = virtualClock();
  const known = settings.stores && { stores: settings.stores, approved: true };
  const sandbox = await startSandbox({ clock, rotation: "always", lifetimeMs, ...known });
  const namespace = `retail_pos_test_${randomUUID().replaceAll("-", "")}`;
  const way = settings.way ?? (await wayTo(engine, namespace));
  const { authUrl, baseUrl, application } = sandbox;
  const options = { ...application, authUrl, baseUrl, timeoutMs };
  const quiet = settings.isQuiet ? { IS_QUIET: "yes" } : {};
  const env = {
    ENGINE: engine,
    NAMESPACE: namespace,
    OPTIONS: JSON.stringify(options),
    ...way.env,
    ...quiet,
  };
  const all: Worker[] = [];
  const processes = () => all.filter((process) => process.isAlive());
  onTestFinished(async () => {
    await Promise.all(processes().map((process) => process.kill()));
    await way.close();
    await sandbox.close();
    await forget(engine, namespace);
  });

  const start = async (sealing?: SealedStoreOptions) => {
    const own = sealing ? { SEALING: JSON.stringify(sealing) } : {};
    const worker = newWorker(
      fork(program, { env: { ...process.env, ...env, ...own }, stdio: ["ignore", "inherit", "pipe", "ipc"] }),
    );
    all.push(worker);
    await worker.says("ready");
    await worker.ask("setTime", clock());
    return worker;
  };
  const letPass = async (ms: number) => {
    const now = clock.advance(ms);
    await Promise.all(processes().map((process) => process.ask("setTime", now)));
  };
  const logIn = async (retailer: string) => {
    const code = sandbox.approve(retailer).searchParams.get("code");
    await processes()[0]?.ask("logIn", [retailer, code]);
  };
  const logInAll = async (retailers: readonly string[]) => {
    const logins = retailers.map((retailer) => [
      retailer,
      sandbox.approve(retailer).searchParams.get("code"),
    ]);
    const each = Math.ceil(logins.length / processes().length);
    await Promise.all(
      processes().map((process, index) =>
        process.ask("logInEach", logins.slice(index * each, (index + 1) * each)),
      ),
    );
  };
  const callAll = (retailer: string, callers: number) =>
    Promise.all(processes().map((process) => process.call(retailer, callers)));
  const answers = (retailer: string) =>
    sandbox.tokenRequests(retailer).map(({ status, fault }) => status ?? fault);

  await Promise.all(Array.from({ length: settings.processes ?? 3 }, () => start()));
  for (const retailer of retailers) await logIn(retailer);
  return { sandbox, namespace, way, processes, start, letPass, logIn, logInAll, callAll, answers };
}

function newWorker(child: ChildProcess): Worker {
  const waiting = new Map<number, (answer: { result?: unknown; error?: string }) => void>();
  const events = new EventEmitter();
  const said: string[] = [];
  let id = 0;
  const isAlive = () => child.exitCode === null && child.signalCode === null;
  const exited = once(child, "close"); // by then all that it complained of has been read
  let complaint = "";
  child.stderr?.on("data", (text) => {
    complaint += text;
  });
  child.on("message", (message: { event?: string; id?: number; result?: unknown; error?: string }) => {
    if (message.event === undefined) return waiting.get(message.id ?? -1)?.(message);
    said.push(message.event);
    events.emit(message.event);
  });
  child.once("exit", (code, signal) => {
    const error = `the process ended with ${code ?? signal}`;
    for (const answer of waiting.values()) answer({ error });
  });

  const ask: Worker["ask"] = (command, argument) => {
    const answered = new Promise((resolve, reject) => {
      waiting.set(++id, ({ result, error }) => (error ? reject(new Error(error)) : resolve(result)));
      child.send({ id, command, argument }, (error) => error && reject(error));
    });
    answered.catch(() => {}); // nobody has to wait for a process that is killed
    return answered;
  };
  return {
    ask,
    call: (retailer, callers) => ask("call", [retailer, callers]) as Promise<Called>,
    callEach: (retailers) => ask("callEach", retailers) as Promise<Called>,
    renewDue: (wanted) => ask("renewDue", wanted) as Promise<RenewDueReport>,
    stopRenewing: () => ask("stopRenewing"),
    stored: (retailer) => ask("stored", retailer) as Promise<TokenSet>,
    says(event) {
      const ended = exited.then(() =>
        Promise.reject(new Error(`it ended before it said "${event}": ${complaint}`)),
      );
      const said = Promise.race([once(events, event), ended]).then(() => {});
      said.catch(() => {}); // a test may listen for what it does not wait for
      return said;
    },
    said,
    isAlive,
    pause: () => void child.kill("SIGSTOP"),
    resume: () => void child.kill("SIGCONT"),
    async kill() {
      child.kill("SIGKILL");
      await exited;
    },
  };
}

/** Removes what a namespace left in its engine. */
export async function forget(engine: string, namespace: string): Promise<void> {
  if (engine === "sqlite") {
    for (const suffix of ["", "-wal", "-shm"]) rmSync(sqliteFile(namespace) + suffix, { force: true });
  } else if (engine === "postgres") {
    const client = new pg.Client({ connectionString: databaseUrl });
    await client.connect();
    const { rows } = await client.query("select tablename from pg_tables where tablename like $1", [
      `${namespace}%`,
    ]);
    for (const { tablename } of rows) await client.query(`drop table "${tablename}"`);
    await client.end();
  } else {
    const client = new Redis(redisUrl);
    const keys = await client.keys(`*${namespace}*`);
    if (keys.length > 0) await client.del(...keys);
    await client.quit();
  }
}
