import { type ChildProcess, fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type Sandbox, startSandbox, virtualClock } from "@retail-pos/sandbox";
import { Redis } from "ioredis";
import pg from "pg";
import { describe, expect, test } from "vitest";
import { url as databaseUrl, canRun as hasPostgres } from "../packages/store-postgres/testing/postgres.js";
import { canRun as hasRedis, url as redisUrl } from "../packages/store-redis/testing/redis.js";
import { sqliteFile } from "./support/engines.mjs";

// Several real processes on one engine, beside one service that rotates every refresh token.

const worker = fileURLToPath(new URL("support/worker.mjs", import.meta.url));
const store = "harbour-coffee";
const LIFETIME_MS = 600_000;

const engines = [...(hasRedis ? ["redis"] : []), ...(hasPostgres ? ["postgres"] : []), "sqlite"];

describe.each(engines)("several processes on %s", { timeout: 120_000 }, (engine) => {
  // Side by side: most of their time two of them wait for the lease of a process that was killed.
  test.concurrent("4 times 250 callers at expiry make one token request, over several expiries", async ({
    onTestFinished,
  }) => {
    const { sandbox, letPass, callAll } = await application(engine, onTestFinished);
    for (let expiry = 1; expiry <= 4; expiry += 1) {
      await letPass(LIFETIME_MS);
      const answers = await callAll(250);
      expect(answers.flatMap(({ errors }) => errors)).toEqual([]);
      expect(answers.reduce((sum, { served }) => sum + served, 0)).toBe(1000);
      const values = new Set(answers.flatMap(({ values }) => values));
      expect(values.size).toBe(1);
      expect(sandbox.accepts(store, [...values][0] ?? "")).toBe(true);
      expect(sandbox.tokenRequests(store)).toHaveLength(1 + expiry);
    }
  });

  test.concurrent("one that is killed while it renews, before the service rotated, costs nobody the store", async ({
    onTestFinished,
  }) => {
    const { sandbox, letPass, callAll, processes } = await application(engine, onTestFinished);
    const silence = sandbox.fault("silence", { domainPrefix: store });
    await letPass(LIFETIME_MS);
    const victim = processes()[0] as Worker;
    victim.ask("call", [store, 1]).catch(() => {}); // the answer never comes
    await silence.struck;
    await victim.kill();
    const answers = await callAll(50);
    expect(answers.flatMap(({ errors }) => errors)).toEqual([]);
    expect(answers.reduce((sum, { served }) => sum + served, 0)).toBe(150);
    expect(sandbox.tokenRequests(store)).toHaveLength(3);
  });

  test.concurrent("one that is killed after the service rotated loses the token nobody received: the retailer is told to log in, and can", async ({
    onTestFinished,
  }) => {
    const { sandbox, letPass, callAll, logIn, processes } = await application(engine, onTestFinished);
    const late = sandbox.fault("late", { domainPrefix: store });
    await letPass(LIFETIME_MS);
    const victim = processes()[0] as Worker;
    victim.ask("call", [store, 1]).catch(() => {});
    await late.struck; // rotated; the answer is held back
    await victim.kill();
    late.release();
    for (const { errors } of await callAll(1)) {
      expect(errors).toEqual([expect.stringContaining("log in with the store again")]);
    }
    await logIn();
    await letPass(20_000); // longer than a process trusts its copy
    for (const { served } of await callAll(10)) expect(served).toBe(10);
  });

  test.concurrent("a slow answer of the token endpoint is waited for by all, and no second request goes out", async ({
    onTestFinished,
  }) => {
    const { sandbox, letPass, callAll } = await application(engine, onTestFinished);
    const late = sandbox.fault("late", { domainPrefix: store });
    await letPass(LIFETIME_MS);
    const answers = callAll(50);
    await late.struck;
    late.release();
    expect((await answers).map(({ served }) => served)).toEqual([50, 50, 50, 50]);
    expect(sandbox.tokenRequests(store)).toHaveLength(2);
  });
});

/** Four processes with one store logged in, beside a sandbox; all of it is gone when the test is over. */
async function application(engine: string, onTestFinished: (end: () => Promise<void>) => void) {
  const clock = virtualClock();
  const sandbox = await startSandbox({ clock, rotation: "always", lifetimeMs: LIFETIME_MS });
  const namespace = `retail_pos_test_${randomUUID().replaceAll("-", "")}`;
  const all = await Promise.all(Array.from({ length: 4 }, () => startWorker(engine, namespace, sandbox)));
  const processes = () => all.filter((process) => process.isAlive());
  onTestFinished(async () => {
    await Promise.all(processes().map((process) => process.stop()));
    await sandbox.close();
    await forget(engine, namespace);
  });

  /** Lets so much time pass, everywhere. */
  const letPass = async (ms: number) => {
    const now = clock.advance(ms);
    await Promise.all(processes().map((process) => process.ask("setTime", now)));
  };
  const callAll = (callers: number) =>
    Promise.all(processes().map((process) => process.ask("call", [store, callers]) as Promise<Called>));
  const logIn = async () => {
    const code = sandbox.approve(store).searchParams.get("code");
    await processes()[0]?.ask("logIn", [store, code]);
  };
  await letPass(0);
  await logIn();
  return { sandbox, processes, letPass, callAll, logIn };
}

async function startWorker(
  engine: string,
  namespace: string,
  { authUrl, baseUrl, application }: Sandbox,
): Promise<Worker> {
  const child = fork(worker, {
    env: {
      ...process.env,
      ENGINE: engine,
      NAMESPACE: namespace,
      REDIS_URL: redisUrl,
      DATABASE_URL: databaseUrl,
      OPTIONS: JSON.stringify({ ...application, authUrl, baseUrl }),
    },
  });
  const started = newWorker(child);
  await started.ready;
  return started;
}

interface Called {
  served: number;
  values: string[];
  errors: string[];
}

interface Worker {
  readonly ready: Promise<void>;
  isAlive(): boolean;
  ask(command: string, argument?: unknown): Promise<unknown>;
  kill(): Promise<void>;
  stop(): Promise<void>;
}

function newWorker(child: ChildProcess): Worker {
  const waiting = new Map<number, (answer: { result?: unknown; error?: string }) => void>();
  let id = 0;
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const ready = new Promise<void>((resolve, reject) => {
    child.once("message", () => resolve());
    child.once("exit", (code) => reject(new Error(`the process ended with ${code}`)));
  });
  child.on("message", (answer: { id?: number; result?: unknown; error?: string }) => {
    waiting.get(answer.id ?? -1)?.(answer);
  });
  const ask: Worker["ask"] = (command, argument) =>
    new Promise((resolve, reject) => {
      waiting.set(++id, ({ result, error }) => (error ? reject(new Error(error)) : resolve(result)));
      child.send({ id, command, argument });
    });
  return {
    ready,
    ask,
    isAlive: () => !child.killed && child.exitCode === null,
    async kill() {
      child.kill("SIGKILL");
      await ended;
    },
    async stop() {
      if (child.connected) await ask("close");
      await ended;
    },
  };
}

/** Removes what a namespace left in its engine. */
async function forget(engine: string, namespace: string): Promise<void> {
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
