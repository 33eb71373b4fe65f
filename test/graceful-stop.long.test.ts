import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";
import Database from "libsql";
import { expect, type TestContext, test, vi } from "vitest";
import { url as databaseUrl, canRun as hasPostgres } from "../packages/store-postgres/testing/postgres.js";
import { canRun as hasRedis, url as redisUrl } from "../packages/store-redis/testing/redis.js";
import { sqliteFile } from "./support/engines.mjs";
import { wayTo } from "./support/outage.js";
import { forget } from "./support/processes.js";
import { root } from "./support/sources.js";
import { engineOf } from "./support/starters.js";
import { type Visit, visitor } from "./support/visitors.js";

// Real processes that are told to end while people are busy with them. All of these take some seconds, most of them
// of waiting.

vi.setConfig({ maxConcurrency: 4 });

const EXPRESS_LOGIN = "examples/express-login/dist/server.js";
const forTrying = parseEnv(readFileSync(join(root, "examples/express-login/.env.example"), "utf8"));

/** What the contract promises: so long new connections are accepted, and after so long all is over. */
const ACCEPTING_MS = 1000;
const LONGEST_STOP_MS = 10_000;
/** After one process of several has noticed the signal. */
const OTHERS_KNOW_MS = 300;
/** For a machine that has other things to do. */
const SLOWNESS_MS = 5000;

/** How express-login is told to run in two processes on each engine that is there. */
const engines: [engine: string, env: Record<string, string>][] = [];
if (hasRedis) engines.push(["redis", { WORKERS: "2", REDIS_URL: redisUrl }]);
if (hasPostgres) engines.push(["postgres", { WORKERS: "2", DATABASE_URL: databaseUrl }]);

const examples: [name: string, env: Record<string, string>][] = [
  ["express-login", {}],
  ["koa-service", {}],
  ["many-stores", {}],
  ...engines.map(([, env]): [string, Record<string, string>] => ["express-login", env]),
];

test.concurrent.for(examples)(
  "%s under load cuts no answer when it stops %o",
  async ([name, env], { onTestFinished }) => {
    const program = await start(`examples/${name}/dist/server.js`, onTestFinished, env);
    const path = name === "koa-service" ? "/health" : "/";
    expect(await visitor(program.port).visit("/ready")).toMatchObject({ status: 200 });
    const busy = crowd(program.port, path);
    const slow = Array.from({ length: 4 }, () => visitor(program.port).keepVisiting(path, () => 2000));
    await pause(700);
    busy.hurry();
    await pause(300);

    const toldAt = performance.now();
    program.child.kill("SIGTERM");
    const isReady = await readiness(program.port);
    setTimeout(busy.calmDown, OTHERS_KNOW_MS);
    const newcomers = await connectionsFor(ACCEPTING_MS, toldAt, program.port, path);
    const visits = (await Promise.all([...busy.visits, ...slow])).flat();

    expect(isReady).toMatchObject({ status: 503, connection: "close" });
    for (const each of newcomers) expect(each).toMatchObject({ status: 200 });
    const later = visits.filter(({ at, status }) => status === 200 && at > isReady.until + OTHERS_KNOW_MS);
    expect([...new Set(later.map(({ connection }) => connection))]).toEqual(["close"]);
    expect(visits.filter((visit) => isCut(visit, toldAt))).toEqual([]);
    expect(await program.ended).toEqual([0, null]);
    expect(performance.now() - toldAt).toBeLessThan(LONGEST_STOP_MS + SLOWNESS_MS);
  },
);

test.for(engines.slice(0, 1))(
  "express-login on %s cuts no answer when every process of it is told to stop, as service managers do",
  async ([, env], { onTestFinished }) => {
    const { child, port, workers, ended } = await start(EXPRESS_LOGIN, onTestFinished, env);
    expect(workers).toHaveLength(2);
    const busy = crowd(port, "/");
    busy.hurry();
    await pause(500);
    const toldAt = performance.now();
    for (const id of workers) process.kill(id, "SIGTERM");
    child.kill("SIGTERM");
    setTimeout(busy.calmDown, OTHERS_KNOW_MS);
    const visits = (await Promise.all(busy.visits)).flat();
    expect(visits.filter((visit) => isCut(visit, toldAt))).toEqual([]);
    expect(await ended).toEqual([0, null]);
  },
);

test("an answer that is under way is sent whole, on a connection that ends with it", async ({
  onTestFinished,
}) => {
  const { port, child, ended } = await start("test/support/slow-server.mjs", onTestFinished);
  const kept = visitor(port);
  expect(await kept.visit("/quick")).toMatchObject({ body: "whole", connection: "keep-alive" });
  const [slow, stream] = [visitor(port).visit("/slow"), visitor(port).visit("/stream")];
  await pause(500);
  child.kill("SIGTERM");
  await pause(500);
  expect(await visitor(port).visit("/bare")).toMatchObject({ body: "whole", connection: "close" });
  expect(await slow).toMatchObject({ body: "whole", connection: "close" });
  expect(await stream).toMatchObject({ body: "whole" });
  // By now no new connection is taken, and this one was quiet all the time.
  expect(await visitor(port).visit("/quick")).toMatchObject({ error: "ECONNREFUSED" });
  expect(await kept.visit("/quick")).toMatchObject({ body: "whole", connection: "close", wasReused: true });
  expect(await ended).toEqual([0, null]);
});

test("a program that works all the time is over in ten seconds as well", async ({ onTestFinished }) => {
  const { port, child, ended } = await start("test/support/slow-server.mjs", onTestFinished);
  const busy = Array.from({ length: 4 }, () => visitor(port).keepVisiting("/costly", () => 0));
  await pause(500);
  const toldAt = performance.now();
  child.kill("SIGTERM");
  const visits = (await Promise.all(busy)).flat();
  expect(visits.filter((visit) => isCut(visit, toldAt))).toEqual([]);
  expect(visits.filter(({ at, status }) => status === 200 && at > toldAt + LONGEST_STOP_MS)).toEqual([]);
  expect(await ended).toEqual([0, null]);
});

test("who comes while a program that stops is too busy to notice is served all the same", async ({
  onTestFinished,
}) => {
  const { port, child, ended } = await start("test/support/slow-server.mjs", onTestFinished);
  child.kill("SIGTERM");
  await pause(300);
  const busy = visitor(port).visit("/busy");
  await pause(100);
  const newcomers = await Promise.all(Array.from({ length: 20 }, () => visitor(port).visit("/quick")));
  for (const each of newcomers) expect(each).toMatchObject({ body: "whole", connection: "close" });
  expect(await busy).toMatchObject({ body: "whole" });
  expect(await ended).toEqual([0, null]);
});

test("what has not ended after ten seconds is ended; a second signal does so at once", async ({
  onTestFinished,
}) => {
  const patient = await start("test/support/slow-server.mjs", onTestFinished);
  const hasty = await start("test/support/slow-server.mjs", onTestFinished);
  const never = [patient, hasty].map(({ port }) => visitor(port).visit("/never"));
  await pause(500);
  const toldAt = performance.now();
  for (const { child } of [patient, hasty]) child.kill("SIGTERM");
  await pause(500);
  hasty.child.kill("SIGTERM");
  expect(await hasty.ended).toEqual([null, "SIGTERM"]);
  expect(performance.now() - toldAt).toBeLessThan(LONGEST_STOP_MS - SLOWNESS_MS);
  expect(await patient.ended).toEqual([0, null]);
  const tookMs = performance.now() - toldAt;
  expect(tookMs).toBeGreaterThanOrEqual(LONGEST_STOP_MS - 100);
  expect(tookMs).toBeLessThan(LONGEST_STOP_MS + SLOWNESS_MS);
  for (const { error } of await Promise.all(never)) expect(error).toBe("ECONNRESET");
});

/** Imported before the program: the signal comes as soon as the program, or a worker of it, listens to signals. */
const SIGNAL_AT_ONCE = `data:text/javascript,
  import cluster from "node:cluster";
  const tell = (name) => name === "SIGTERM" && queueMicrotask(() => process.emit("SIGTERM"));
  if (cluster.isWorker || process.env.WORKERS === "1") process.on("newListener", tell);`;

test.concurrent.for(
  engines.flatMap(([engine, env]): [string, Record<string, string>, number][] => [
    [engine, { ...env, WORKERS: "1" }, 0],
    [engine, env, 1], // the primary ends because its first worker did, before any served
  ]),
)(
  "express-login on %s that is told to end while it starts never listens, and ends",
  async ([, env, exitCode], { onTestFinished }) => {
    const { child, ended } = spawned(EXPRESS_LOGIN, onTestFinished, env, [
      `--import=${SIGNAL_AT_ONCE.replaceAll("\n", "")}`,
    ]);
    let output = "";
    child.stdout.on("data", (text) => {
      output += text;
    });
    expect(await ended).toEqual([exitCode, null]);
    expect(output).toBe("");
  },
);

test.concurrent.for(["express-login", "koa-service", "many-stores"])(
  "%s says that it is not ready while its store is away, and that it lives",
  async (name, { onTestFinished }) => {
    const { port, file } = await start(`examples/${name}/dist/server.js`, onTestFinished);
    const ask = visitor(port);
    expect(await ask.visit("/ready")).toMatchObject({ status: 200, body: '{"status":"ready"}' });
    const database = new Database(file);
    onTestFinished(() => void database.close());
    database.exec("ALTER TABLE retail_pos_tokens RENAME TO elsewhere");
    expect(await ask.visit("/ready")).toMatchObject({ status: 503, body: '{"status":"not ready"}' });
    expect(await ask.visit("/health")).toMatchObject({ status: 200, body: '{"status":"ok"}' });
    database.exec("ALTER TABLE elsewhere RENAME TO retail_pos_tokens");
    expect(await ask.visit("/ready")).toMatchObject({ status: 200 });
  },
);

test.for(engines)("express-login says so of %s", async ([engine, env], { onTestFinished }) => {
  const way = await wayTo(engine, "unused");
  onTestFinished(() => way.close());
  const { port } = await start(EXPRESS_LOGIN, onTestFinished, { ...env, ...way.env });
  const status = async (path: string) => (await visitor(port).visit(path)).status;
  expect(await status("/ready")).toBe(200);
  way.shut();
  expect(await status("/ready")).toBe(503);
  expect(await status("/health")).toBe(200);
  way.open();
  await expect.poll(() => status("/ready")).toBe(200);
});

test.for(engines)(
  "express-login ends when it is told to while no new worker can start, since %s is away",
  async ([engine, env], { onTestFinished }) => {
    const way = await wayTo(engine, "unused");
    onTestFinished(() => way.close());
    const { child, workers, ended } = await start(EXPRESS_LOGIN, onTestFinished, { ...env, ...way.env });
    let problems = "";
    child.stderr?.on("data", (text) => {
      problems += text;
    });
    way.shut();
    process.kill(workers[0] as number, "SIGKILL");
    await expect.poll(() => problems).toContain("died: SIGKILL");
    await pause(3000); // until new workers have begun, and given up
    child.kill("SIGTERM");
    expect(await ended).toEqual([0, null]);
  },
);

/** Eight busy visitors. In a hurry, one has a request under way all the time, and a signal finds each so. */
function crowd(port: number, path: string) {
  let pauseMs = 20;
  return {
    visits: Array.from({ length: 8 }, () => visitor(port).keepVisiting(path, () => pauseMs)),
    hurry() {
      pauseMs = 0;
    },
    calmDown() {
      pauseMs = 20;
    },
  };
}

/** Everybody is answered, until no connection can be had; nobody is turned away in the first second. */
function isCut({ at, error, wasReused }: Visit, toldAt: number): boolean {
  if (error === undefined) return false;
  return wasReused || at < toldAt + ACCEPTING_MS || !["ECONNREFUSED", "ECONNRESET"].includes(error);
}

/** The first answer of `/ready` that says no. */
async function readiness(port: number): Promise<Visit> {
  for (;;) {
    const visit = await visitor(port).visit("/ready");
    if (visit.status !== 200) return visit;
  }
}

/** A new visitor every twentieth of a second, each on a connection of its own, for so long after `from`. */
async function connectionsFor(forMs: number, from: number, port: number, path: string): Promise<Visit[]> {
  const visits: Promise<Visit>[] = [];
  while (performance.now() < from + forMs - 50) {
    visits.push(visitor(port).visit(path));
    await pause(50);
  }
  return Promise.all(visits);
}

interface Program {
  readonly child: ChildProcess;
  readonly port: number;
  /** The process ids of express-login's workers. */
  readonly workers: readonly number[];
  /** Where the examples on SQLite keep tokens. */
  readonly file: string;
  /** Exit code and signal. */
  readonly ended: Promise<unknown[]>;
}

/** Started as a container would, by `node` and nothing in between. */
async function start(
  program: string,
  onTestFinished: TestContext["onTestFinished"],
  env: Record<string, string> = {},
): Promise<Program> {
  const { child, ended, file } = spawned(program, onTestFinished, env);
  return new Promise((resolve, reject) => {
    let output = "";
    // Read to the end: a program that logs into a pipe which nobody reads any more ends with EPIPE.
    child.stdout.on("data", (text) => {
      output += text;
      const port = /(?:localhost:|Listening on port )(\d+)/.exec(output)?.[1];
      const workers = [...output.matchAll(/\(process (\d+)\) is listening/g)].map(([, id]) => Number(id));
      if (port) resolve({ child, port: Number(port), workers, file, ended });
    });
    ended.then(() => reject(new Error(`${program} ended: ${output}`)));
  });
}

function spawned(
  program: string,
  onTestFinished: TestContext["onTestFinished"],
  env: Record<string, string>,
  options: readonly string[] = [],
) {
  const own = `stop_${randomUUID().slice(0, 8)}`;
  const file = sqliteFile(own);
  // Without the address of an engine that is for other tests: an example that could use it takes its file.
  const place = { NAMESPACE: own, DATABASE_FILE: file, DATABASE_URL: "", REDIS_URL: "" };
  const settings = { ...forTrying, PORT: "0", WORKERS: "1", ...place, ...env };
  const child = spawn(process.execPath, [...options, join(root, program)], {
    env: { ...process.env, ...settings },
  });
  const ended = once(child, "exit");
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await ended;
    await forget(engineOf(env), own);
  });
  return { child, ended, file };
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
