import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { get, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { memoryLock, memoryStore } from "@retail-pos/core";
import { type Sandbox, startSandbox } from "@retail-pos/sandbox";
import session from "express-session";
import pg from "pg";
import { createClient } from "redis";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createApp } from "./app.js";
import { nextStartAt } from "./primary.js";
import { settingsFrom } from "./settings.js";

// The cluster runs as it is deployed: dist/server.js with its workers, on a real engine, beside a sandbox.

const WORKERS = 2;
const namespace = `test_${randomUUID().replaceAll("-", "").slice(0, 16)}`;
const server = fileURLToPath(new URL("../dist/server.js", import.meta.url));

/** Removes what this run left in an engine; rejects where none answers. */
const forget = {
  async redis() {
    const url = settingsFrom({ ...process.env, STORE: "redis" }).engineUrl;
    const client = createClient({ url, socket: { reconnectStrategy: false } });
    client.on("error", () => {});
    await client.connect();
    for await (const keys of client.scanIterator({ MATCH: `${namespace}*`, COUNT: 1000 })) {
      if (keys.length > 0) await client.unlink(keys);
    }
    await client.close();
  },
  async postgres() {
    const connectionString = settingsFrom({ ...process.env, STORE: "postgres" }).engineUrl;
    const client = new pg.Client({ connectionString, connectionTimeoutMillis: 2000 });
    await client.connect();
    const { rows } = await client.query<{ tablename: string }>(
      "SELECT tablename FROM pg_tables WHERE starts_with(tablename, $1)",
      [namespace],
    );
    for (const { tablename } of rows) await client.query(`DROP TABLE "${tablename}"`);
    await client.end();
  },
};

let sandbox: Sandbox;
/** Each test is about a store, and a person, of its own. */
let store: string;
let storesUsed = 0;
let cookies: Map<string, string>;
let origin: string;
const running: Running[] = [];

beforeAll(async () => {
  sandbox = await startSandbox({ stores: 100 });
});
beforeEach(() => {
  const next = sandbox.stores[storesUsed++];
  if (!next) throw new Error("There are more tests than stores: give the sandbox more");
  store = next.domainPrefix;
  cookies = new Map();
});
afterAll(async () => {
  await Promise.all(running.map(({ end }) => end("SIGKILL")));
  await sandbox.close();
});

describe.each(["redis", "postgres"] as const)("on %s", { timeout: 60_000 }, async (engine) => {
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
      cluster = start({ STORE: engine });
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

    test("the page says which process it came from, and what forty calls at once have shown", async () => {
      await logIn();
      const { body } = await open("/products");
      expect(textOf(body)).toMatch(/This page came from worker \d+ , process \d+/);
      expect(body).toContain("Who answers, and how many token requests it costs");
      sandbox.expire(store);
      expect(await open("/burst", { method: "POST" })).toMatchObject({ location: "/products#burst" });
      const shown = textOf((await open("/products")).body);
      expect(shown).toContain("answered 40 of 40");
      expect(shown).toContain(`processes ${WORKERS}`);
      expect(shown).toContain("token request 1");
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

    test("a port in use ends it, instead of starting workers for ever", async () => {
      const second = start({ STORE: engine, PORT: new URL(home).port });
      expect(await second.ended).toEqual([1, null]);
      expect(second.output()).toContain("EADDRINUSE");
    });

    test("a renewal that is under way when the browser has left, and it is told to stop, is saved", async () => {
      const own = { STORE: engine, NAMESPACE: `${namespace}_stops` };
      const stops = start(own);
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

      origin = await start(own).opens();
      expect((await open("/products")).body, stops.output()).toContain("On your shelves");
      expect(sandbox.tokenRequests(store)).toHaveLength(2);
    });

    test("two machines that start at once share a login; both stop cleanly; a restart logs nobody out", {
      timeout: 180_000, // three times several processes start, and twice they wait for connections that nobody uses
    }, async () => {
      const empty = { STORE: engine, NAMESPACE: `${namespace}_empty` };
      const machines = [start(empty), start(empty)] as const;
      const origins = await Promise.all(machines.map((machine) => machine.opens()));
      origin = origins[0] ?? "";
      await logIn();
      origin = origins[1] ?? "";
      expect((await open("/products")).body).toContain("On your shelves"); // its connection stays open
      const pids = (await callManyTimes()).map(({ pid }) => pid as number);

      expect(await Promise.all([machines[0].end("SIGTERM"), machines[1].end("SIGINT")])).toEqual([
        [0, null],
        [0, null],
      ]);
      for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow("ESRCH");

      origin = await start(empty).opens();
      expect((await open("/products")).body).toContain("On your shelves");
      expect(sandbox.tokenRequests(store)).toHaveLength(1);
    });
  });
});

describe("it does not start, and says why:", { timeout: 60_000 }, () => {
  test.each([
    ["without STORE", { STORE: "" }, "STORE is missing: redis or postgres"],
    ["with another STORE", { STORE: "mysql" }, "STORE must be redis or postgres"],
    ["Redis is away", { STORE: "redis", REDIS_URL: "redis://127.0.0.1:1" }, "Redis could not be reached"],
    [
      "PostgreSQL is away",
      { STORE: "postgres", DATABASE_URL: "postgresql://127.0.0.1:1/x" },
      "PostgreSQL could not create the tables",
    ],
  ])("%s", async (_case, env, words) => {
    const cluster = start(env);
    expect(await cluster.ended).toEqual([1, null]);
    expect(cluster.output()).toContain(words);
  });
});

describe("settings", () => {
  test("without an environment are the sandbox's", () => {
    const { clientId, clientSecret, redirectUri, sandboxUrl } = settingsFrom({ STORE: "redis" });
    expect({ clientId, clientSecret, redirectUri }).toEqual(sandbox.application);
    expect(sandboxUrl).toBe("http://127.0.0.1:4010");
  });

  const service = {
    STORE: "redis",
    RETAIL_POS_AUTH_URL: "https://consent.example",
    RETAIL_POS_BASE_URL: "https://{domain_prefix}.example",
    RETAIL_POS_CLIENT_ID: "id",
    RETAIL_POS_CLIENT_SECRET: "a client secret of 32 characters",
    RETAIL_POS_REDIRECT_URI: "https://shelfview.example/auth/retail-pos/callback",
    SESSION_SECRET: "a session secret of 32 characters",
  };
  test("for the service are all given", () => {
    expect(settingsFrom(service)).toMatchObject({
      clientSecret: service.RETAIL_POS_CLIENT_SECRET,
      sessionSecret: service.SESSION_SECRET,
    });
    expect(settingsFrom(service)).not.toHaveProperty("sandboxUrl");
  });
  test.each([
    "RETAIL_POS_BASE_URL",
    "RETAIL_POS_CLIENT_ID",
    "RETAIL_POS_CLIENT_SECRET",
    "RETAIL_POS_REDIRECT_URI",
    "SESSION_SECRET",
  ])("for the service never fall back to the sandbox's: %s", (name) => {
    expect(() => settingsFrom({ ...service, [name]: "" })).toThrow(`${name} is missing`);
  });
  test.each([
    ["a short session secret", { SESSION_SECRET: "too short" }, "SESSION_SECRET must be 32"],
    ["no session secret", { SESSION_SECRET: undefined }, "SESSION_SECRET is missing"],
    ["the sandbox's id", { RETAIL_POS_CLIENT_ID: "sandbox-application" }, "RETAIL_POS_CLIENT_ID is the"],
    ["the sandbox's secret", { RETAIL_POS_CLIENT_SECRET: "sandbox-application-secret" }, "_SECRET is the"],
    ["the client secret again", { SESSION_SECRET: service.RETAIL_POS_CLIENT_SECRET }, "must not be the"],
  ])("for people from elsewhere are refused: %s", (_case, wrong, named) => {
    expect(() => settingsFrom({ ...service, ...wrong })).toThrow(named);
  });
  test.each([
    ["PORT", "http"],
    ["WORKERS", "0"],
    ["WORKERS", "2.5"],
    ["NAMESPACE", 'a"; drop table'],
    ["RETAIL_POS_AUTH_URL", "consent"],
    ["TRUST_PROXY", "yes"],
    ["HOST", "shelfview.example"],
  ])("that make no sense are named: %s=%s", (name, value) => {
    expect(() => settingsFrom({ ...service, [name]: value })).toThrow(`- ${name} must be`);
  });
});

test("away from the sandbox there is no demonstration, and the page is the same otherwise", async () => {
  const { sandboxUrl: _, ...settings } = settingsFrom({ STORE: "redis", ...settingsOf(sandbox) });
  const tokens = { store: memoryStore(), lock: memoryLock() };
  const shared = { tokens, sessions: new session.MemoryStore(), close: async () => {} };
  const http = createApp(settings, shared).listen(0);
  origin = `http://localhost:${portOf(http)}`;
  await logIn();
  const { body } = await open("/products");
  expect(body).toContain("On your shelves");
  expect(body).not.toContain("Call 40 times");
  expect((await open("/burst", { method: "POST" })).status).toBe(404);
  http.close();
  http.closeAllConnections();
});

test.each([
  ["the first goes at once", [], 1_000_000, 1_000_000],
  ["nine before it change nothing", Array(9).fill(999_000), 1_000_000, 1_000_000],
  ["the eleventh in a minute waits for its end", Array(10).fill(999_000), 1_000_000, 1_059_000],
  ["so does the one after it", [...Array(10).fill(999_000), 1_059_000], 1_000_000, 1_059_000],
  ["what is over a minute ago does not count", Array(10).fill(900_000), 1_000_000, 1_000_000],
])("when workers die in a row, %s", (_case, earlier, now, startAt) => {
  expect(nextStartAt(earlier, now)).toBe(startAt);
});

/** What the sandbox prints for a `.env`. */
function settingsOf({ authUrl, baseUrl, application }: Sandbox) {
  return {
    RETAIL_POS_AUTH_URL: authUrl,
    RETAIL_POS_BASE_URL: baseUrl,
    RETAIL_POS_CLIENT_ID: application.clientId,
    RETAIL_POS_CLIENT_SECRET: application.clientSecret,
    RETAIL_POS_REDIRECT_URI: application.redirectUri,
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
  const child: ChildProcess = spawn(process.execPath, [server], {
    env: {
      ...process.env,
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
  expect((await open(`${callback.pathname}${callback.search}`, init)).location).toBe("/products");
}

/** Forty calls, each on a connection of its own, as forty browsers would make them. */
function callManyTimes(): Promise<{ status: number | undefined; pid: number | undefined }[]> {
  const url = new URL("/api/products", origin);
  const call = () =>
    new Promise<{ status: number | undefined; pid: number | undefined }>((resolve, reject) => {
      get(url, { agent: false, headers: { cookie: cookieHeader() } }, async (answer) => {
        const body = (await json(answer).catch(() => ({}))) as { answeredBy?: { pid: number } };
        resolve({ status: answer.statusCode, pid: body.answeredBy?.pid });
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

const cookieHeader = () => [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");

/** A browser of one person, in so many lines: cookies, and redirects to look at. */
async function open(path: string, init: RequestInit = {}) {
  const headers = new Headers(init.headers);
  headers.set("cookie", cookieHeader());
  const answer = await fetch(new URL(path, origin), { ...init, headers, redirect: "manual" });
  for (const cookie of answer.headers.getSetCookie()) {
    const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
    cookies.set(name, value);
  }
  return { status: answer.status, location: answer.headers.get("location") ?? "", body: await answer.text() };
}

const textOf = (html: string) => html.replace(/<[^>]*>/g, " ").replace(/\s+/g, " ");
const portOf = (http: Server) => (http.address() as AddressInfo).port;
