import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { get } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Sandbox, startSandbox, type Visitor } from "@retail-pos/sandbox";
import session from "express-session";
import pg from "pg";
import { createClient } from "redis";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { openStore } from "./store.js";

// The program as it is deployed in several processes, on a real engine, beside a sandbox.

const WORKERS = 2;
const namespace = `test_${randomUUID().replaceAll("-", "").slice(0, 16)}`;
const server = fileURLToPath(new URL("../dist/server.js", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "express-login-"));

/** How a process is told where to keep things. */
const engines = {
  redis: { REDIS_URL: process.env["REDIS_URL"] ?? "redis://127.0.0.1:6379" },
  postgres: { DATABASE_URL: process.env["DATABASE_URL"] ?? "postgresql://postgres@127.0.0.1:5432/test" },
  sqlite: { DATABASE_FILE: join(folder, "login.sqlite") },
};

/** Loaded before the program: each answer says which process it came from. */
const SAYS_WHO = `data:text/javascript,
  import { Server } from "node:http";
  const { emit } = Server.prototype;
  Server.prototype.emit = function (name, request, response) {
    if (name === "request") response.setHeader("x-answered-by", process.pid);
    return emit.apply(this, arguments);
  };`.replaceAll("\n", "");

/** Removes what this run left in an engine; rejects where none answers. */
const forget = {
  async redis() {
    const client = createClient({ url: engines.redis.REDIS_URL, socket: { reconnectStrategy: false } });
    client.on("error", () => {});
    await client.connect();
    for await (const keys of client.scanIterator({ MATCH: `${namespace}*`, COUNT: 1000 })) {
      if (keys.length > 0) await client.unlink(keys);
    }
    await client.close();
  },
  async postgres() {
    const connectionString = engines.postgres.DATABASE_URL;
    const client = new pg.Client({ connectionString, connectionTimeoutMillis: 2000 });
    await client.connect();
    const { rows } = await client.query<{ tablename: string }>(
      "SELECT tablename FROM pg_tables WHERE starts_with(tablename, $1)",
      [namespace],
    );
    for (const { tablename } of rows) await client.query(`DROP TABLE "${tablename}"`);
    await client.end();
  },
  async sqlite() {
    for (const suffix of ["", "-wal", "-shm"]) rmSync(engines.sqlite.DATABASE_FILE + suffix, { force: true });
  },
};

/** Names of their own: a refused store of the sandbox is none of these. */
const stores = Array.from({ length: 100 }, (_, at) => ({ domainPrefix: `test-${at}`, name: `Test ${at}` }));
let sandbox: Sandbox;
/** Each test is about a store, and a person, of its own. */
let store: string;
let storesUsed = 0;
let visitor: Visitor;
let origin: string;
const running: Running[] = [];

beforeAll(async () => {
  sandbox = await startSandbox({ stores });
});
beforeEach(() => {
  const next = sandbox.stores[storesUsed++];
  if (!next) throw new Error("There are more tests than stores: give the sandbox more");
  store = next.domainPrefix;
  visitor = sandbox.visitor(store);
});
afterAll(async () => {
  await Promise.all(running.map(({ end }) => end("SIGKILL")));
  await sandbox.close();
  rmSync(folder, { recursive: true });
});

describe.each(["redis", "postgres", "sqlite"] as const)("on %s", { timeout: 60_000 }, async (engine) => {
  const canRun = await forget[engine]().then(
    () => true,
    () => false,
  );
  if (!canRun && process.env["NO_SKIP"])
    throw new Error(`With NO_SKIP=1 nothing may be skipped: no ${engine} answers`);

  describe.skipIf(!canRun)("several processes", () => {
    let cluster: Running;
    let home: string;
    beforeAll(async () => {
      cluster = start(engines[engine]);
      home = await cluster.opens();
    }, 60_000);
    beforeEach(() => {
      origin = home;
    });
    afterAll(async () => {
      await Promise.all(running.map(({ end }) => end("SIGKILL")));
      await forget[engine]();
    });

    test("forty calls at once, after the token expired, are answered by both and cost one token request", async () => {
      await logIn();
      sandbox.expire(store);
      const answers = await callManyTimes();
      expect(answers.map(({ status }) => status)).toEqual(Array(40).fill(200));
      expect(new Set(answers.map(({ pid }) => pid)).size).toBe(WORKERS);
      expect(sandbox.tokenRequests(store)).toHaveLength(2);
    });

    test("a worker that was killed is replaced, and nobody has to log in again", async () => {
      await logIn();
      const victim = (await callManyTimes())[0]?.pid as number;
      process.kill(victim, "SIGKILL");
      const newest = new RegExp(`Worker ${WORKERS + 1} \\(process (\\d+)\\) is listening`);
      const replacement = await cluster.says(newest);
      sandbox.expire(store);
      const answers = await callManyTimes();
      expect(answers.map(({ status }) => status)).toEqual(Array(40).fill(200));
      const pids = answers.map(({ pid }) => pid);
      expect(pids).toContain(Number(replacement));
      expect(pids).not.toContain(victim);
      expect(sandbox.tokenRequests(store)).toHaveLength(2);
    });

    test("a page prolongs no session", async () => {
      const place = {
        DATABASE_URL: undefined,
        REDIS_URL: undefined,
        DATABASE_FILE: "",
        NAMESPACE: namespace,
      };
      const { sessions, release } = await openStore({ ...place, ...engines[engine] });
      const held = () =>
        new Promise((resolve, reject) =>
          sessions.get("a-session", (error, data) => (error ? reject(error) : resolve(data ?? undefined))),
        );
      sessions.set("a-session", { cookie: endingIn(2000) });
      await expect.poll(held).toBeDefined();
      sessions.touch?.("a-session", { cookie: endingIn(600_000) });
      await expect.poll(held, { timeout: 20_000 }).toBeUndefined();
      release();
    });

    test("a port in use ends it, instead of starting workers for ever", async () => {
      const second = start({ ...engines[engine], PORT: new URL(home).port });
      expect(await second.ended).toEqual([1, null]);
      expect(second.output()).toContain("EADDRINUSE");
    });

    test("a renewal that is under way when the browser has left, and it is told to stop, is saved", async () => {
      const stops = start(engines[engine]);
      origin = await stops.opens();
      await logIn({ headers: { connection: "close" } }); // so that the servers close at once
      const late = sandbox.fault("late", { domainPrefix: store });
      sandbox.expire(store);
      const headers = { cookie: cookieHeader() };
      const browser = get(new URL("/products", origin), { agent: false, headers }).on("error", () => {});
      await late.struck;
      browser.destroy();
      const ended = stops.end("SIGTERM");
      await expect.poll(isClosed, { timeout: 20_000 }).toBe(true);
      late.release();
      expect(await ended).toEqual([0, null]);

      origin = home; // that cluster has not seen this person yet
      expect(await open("/products"), stops.output()).toMatchObject({ status: 200 });
      expect(sandbox.tokenRequests(store)).toHaveLength(2);
    });

    test("two machines that start at once share a login; both stop cleanly; a restart logs nobody out", {
      timeout: 180_000, // three times several processes start, and twice they wait for connections that nobody uses
    }, async () => {
      const empty = { ...engines[engine], NAMESPACE: `${namespace}_empty` };
      const machines = [start(empty), start(empty)] as const;
      const origins = await Promise.all(machines.map((machine) => machine.opens()));
      origin = origins[0] ?? "";
      await logIn();
      origin = origins[1] ?? "";
      expect(await open("/products")).toMatchObject({ status: 200 }); // its connection stays open
      const pids = (await callManyTimes()).map(({ pid }) => pid as number);

      expect(await Promise.all([machines[0].end("SIGTERM"), machines[1].end("SIGINT")])).toEqual([
        [0, null],
        [0, null],
      ]);
      for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow("ESRCH");

      origin = await start(empty).opens();
      expect(await open("/products")).toMatchObject({ status: 200 });
      expect(sandbox.tokenRequests(store)).toHaveLength(1);
    });
  });
});

describe("it does not start, and says why:", { timeout: 60_000 }, () => {
  test.each([
    ["Redis is away", { REDIS_URL: "redis://127.0.0.1:1" }, "It could not start: connect ECONNREFUSED"],
    [
      "PostgreSQL is away",
      { DATABASE_URL: "postgresql://127.0.0.1:1/x" },
      "PostgreSQL could not create the tables",
    ],
  ])("%s", async (_case, env, words) => {
    const cluster = start(env);
    expect(await cluster.ended).toEqual([1, null]);
    expect(cluster.output()).toContain(words);
  });
});

const endingIn = (maxAge: number) => Object.assign(new session.Cookie(), { maxAge });

/** What the sandbox prints for a `.env`. */
function settingsOf({ authUrl, baseUrl, application }: Sandbox) {
  return {
    RETAIL_POS_AUTH_URL: authUrl,
    RETAIL_POS_BASE_URL: baseUrl,
    RETAIL_POS_CLIENT_ID: application.clientId,
    RETAIL_POS_CLIENT_SECRET: application.clientSecret,
    RETAIL_POS_REDIRECT_URI: application.redirectUri,
    SESSION_SECRET: "for the tests, and for nothing else",
  };
}

interface Running {
  /** What the pattern's group found in the output, also when it was said before. */
  says(pattern: RegExp): Promise<string>;
  /** Where to open it, as soon as every worker listens. */
  opens(): Promise<string>;
  output(): string;
  /** Exit code and signal. */
  ended: Promise<[number | null, NodeJS.Signals | null]>;
  end(signal: NodeJS.Signals): Promise<[number | null, NodeJS.Signals | null]>;
}

function start(env: NodeJS.ProcessEnv): Running {
  const child: ChildProcess = spawn(process.execPath, [`--import=${SAYS_WHO}`, server], {
    env: {
      ...process.env,
      DATABASE_URL: "",
      REDIS_URL: "",
      PORT: "0",
      WORKERS: String(WORKERS),
      NAMESPACE: namespace,
      ...settingsOf(sandbox),
      ...env,
    },
  });
  let output = "";
  const ended: Running["ended"] = new Promise((resolve) =>
    child.once("close", (code, signal) => resolve([code, signal])),
  );
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (text) => {
      output += text;
      child.emit("said");
    });
  }
  const cluster: Running = {
    says: (pattern) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const found = pattern.exec(output);
          if (found) resolve(found[1] ?? "");
        };
        child.on("said", look);
        child.once("close", () => reject(new Error(`it ended: ${output}`)));
        look();
      }),
    opens: () => cluster.says(/Open (http:.*)/),
    output: () => output,
    ended,
    end(signal) {
      child.kill(signal);
      return ended;
    },
  };
  running.push(cluster);
  return cluster;
}

async function logIn(init: RequestInit = {}): Promise<void> {
  const { location } = await open("/auth/retail-pos", init);
  const callback = sandbox.consent(location, store);
  const { location: next, body } = await open(`${callback.pathname}${callback.search}`, init);
  expect(next, body).toBe("/products");
}

/** Forty calls, each on a connection of its own, as forty browsers would make them. */
function callManyTimes(): Promise<{ status: number | undefined; pid: number | undefined }[]> {
  const url = new URL("/products", origin);
  const call = () =>
    new Promise<{ status: number | undefined; pid: number | undefined }>((resolve, reject) => {
      get(url, { agent: false, headers: { cookie: cookieHeader() } }, (answer) => {
        resolve({ status: answer.statusCode, pid: Number(answer.headers["x-answered-by"]) });
        answer.resume();
      }).once("error", reject);
    });
  return Promise.all(Array.from({ length: 40 }, call));
}

/**
 * Whether no process listens any more. Asked with a deadline: a connection that the primary hands to the last worker
 * while that worker closes is held by Node, without an answer, until the primary ends.
 */
const isClosed = () =>
  new Promise((resolve) => {
    const asked = get(new URL("/health", origin), { agent: false, timeout: 1000 }, (answer) =>
      answer.resume().once("end", () => resolve(false)),
    );
    asked.once("timeout", () => asked.destroy());
    asked.once("error", ({ code }: NodeJS.ErrnoException) => resolve(code === "ECONNREFUSED"));
  });

const cookieHeader = () => [...visitor.cookies].map((pair) => pair.join("=")).join("; ");

/** An answer to the person's browser, which follows no redirect here. */
async function open(path: string, init: RequestInit = {}) {
  const answer = await visitor.fetch(new URL(path, origin), { ...init, redirect: "manual" });
  return { status: answer.status, location: answer.headers.get("location") ?? "", body: await answer.text() };
}
