import { randomUUID } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import type { RequestListener } from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type RetailPos, type RetailPosEvent, retailPos, type TokenStore } from "@retail-pos/core";
import { type Sandbox, type SandboxOptions, startSandbox, virtualClock } from "@retail-pos/sandbox";
import { storeContract } from "@retail-pos/store-contracts";
import { postgresTokens } from "@retail-pos/store-postgres";
import session from "express-session";
import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { moduleOf } from "../packages/cli/testing/module.js";
import { run } from "../packages/cli/testing/terminal.js";
import { canRun, url } from "../packages/store-postgres/testing/postgres.js";
import { blocksOf, root } from "./support/docs/documents.js";
import { listen } from "./support/listen.js";
import { carelessRefresh, newProgram, oldProgram, type Refresh } from "./support/old-and-new.js";

// The steps of docs/moving-over.md, with the old program beside the new one: each process has its own connections, and
// a person for each store asks all the time. The service rotates every refresh token, and a renewal ends the access
// tokens of before.

const page = "docs/moving-over.md";
const shown = blocksOf(page).filter(({ mark }) => mark === "run by test/moving-over.long.test.ts");
const addColumn = shown.find(({ language }) => language === "sql")?.text ?? "";
const { refresh } = (await moduleWith("function refresh(")) as { refresh: Refresh };
const { oldTable } = (await moduleWith("function oldTable(")) as { oldTable: (pool: pg.Pool) => TokenStore };

const retailers = ["harbour-coffee", "second-chapter", "rosas-bikes", "plant-room"];
const [shop = ""] = retailers;
const DAY_MS = 86_400_000;

describe.skipIf(!canRun)("docs/moving-over.md:", () => {
  test("steps 1 to 4, and back: no request fails, and no store loses its login", async () => {
    const town = await startTown();
    let old = town.old(carelessRefresh);
    town.serve(old.app, town.old(carelessRefresh).app);
    const traffic = await startTraffic(town);

    // 1: the old function is made ready. 2: the column. Meanwhile the old cron job refreshes.
    for (const place of [0, 1]) {
      old = town.old(refresh);
      await traffic.replace(place, old.app);
    }
    await old.refreshAll();
    await town.pool.query(addColumn);
    await traffic.othersLogIn();
    await passesContract(oldTable(town.pool));
    await old.refreshAll();
    await traffic.tokensEnd();

    // 3: renew-due in the place of the cron job, in time and late.
    const job = town.client(oldTable(town.connect()));
    town.clock.advance(DAY_MS * 0.95);
    expect(await job.renewDue({ withinMs: DAY_MS / 12 })).toMatchObject({ seen: 4, due: 4, renewed: 4 });
    town.clock.advance(DAY_MS);
    await job.renewDue();

    // 4: the web processes, one by one; back, and forward again.
    const processes = {
      old: () => town.old(refresh).app,
      new: () => town.new(oldTable(town.connect())),
    };
    for (const which of ["new", "old", "new"] as const) {
      for (const place of [0, 1]) {
        await traffic.replace(place, processes[which]());
        await traffic.tokensEnd();
        await traffic.othersLogIn();
      }
    }
    await traffic.tokensEnd();
    await everyoneWasServed(town, traffic);
  }, 180_000);

  test("step 5, and back: no request fails, and no store loses its login", async () => {
    const town = await startTown();
    await town.pool.query(addColumn);
    const ownTable = (pool: pg.Pool) => postgresTokens({ pool }).store;
    town.serve(town.new(oldTable(town.connect())), town.new(oldTable(town.connect())));
    const traffic = await startTraffic(town);
    await traffic.tokensEnd();

    for (const [fromOn, toOn] of [
      [oldTable, ownTable],
      [ownTable, oldTable],
      [oldTable, ownTable],
    ] as const) {
      const from = fromOn(town.pool);
      const client = moduleOf({ from, to: toOn(town.pool) });
      town.clock.advance(DAY_MS * 0.8);
      const report = await town.client(from).renewDue({ issuedBefore: town.clock() });
      expect(report).toMatchObject({ seen: 4, due: 4, failed: 0, refused: 0 });
      expect((await run(["copy", "--client", client])).stdout).toMatch(/^4 copied\n/);
      await traffic.replace(0, town.new(toOn(town.connect())));
      town.clock.advance(DAY_MS * 0.3);
      await traffic.rounds();
      // This store logs in at the process that is left over.
      const [left] = town.apps().slice(1);
      expect(await town.logInAt(left as RequestListener)).toBe(200);
      await traffic.replace(1, town.new(toOn(town.connect())));
      expect((await run(["copy", "--client", client])).stdout).toMatch(/1 copied\n/);
      await traffic.tokensEnd();
      await traffic.othersLogIn();
    }
    await everyoneWasServed(town, traffic);
  }, 180_000);

  test.each([
    ["made ready waits for its tokens: no request fails", refresh, 200],
    ["not made ready fails this request, and the store keeps its login", carelessRefresh, 500],
  ])("a new process was faster: the old program %s", async (_, ofOld, status) => {
    const { oldAnswer, newAnswer, sandbox, clock } = await sideBySide(ofOld);
    clock.advance(DAY_MS);
    const late = sandbox.fault("late", { domainPrefix: shop });
    const renewing = newAnswer();
    await late.struck;
    const answering = oldAnswer();
    await refused(sandbox);
    late.release();
    expect(await renewing).toBe(200);
    expect(await answering).toBe(status);
    expect([await newAnswer(), await oldAnswer()]).toEqual([200, 200]);
  });

  test("an old process was faster: the new one waits for its tokens, and tells nobody to log in", async () => {
    const { oldAnswer, newAnswer, sandbox, clock, town } = await sideBySide(refresh);
    clock.advance(DAY_MS);
    const late = sandbox.fault("late", { domainPrefix: shop });
    const renewing = oldAnswer();
    await late.struck;
    const answering = newAnswer();
    await refused(sandbox);
    await sleep(500);
    late.release();
    expect([await renewing, await answering]).toEqual([200, 200]);
    expect(town.events.map(({ type }) => type)).not.toContain("reconnect_required");
    expect([await newAnswer(), await oldAnswer()]).toEqual([200, 200]);
  });

  test("an old process was faster, and saves too late: callers of the new one are told to log in, until it has saved", async () => {
    const { oldAnswer, newAnswer, sandbox, clock } = await sideBySide(refresh);
    clock.advance(DAY_MS);
    const late = sandbox.fault("late", { domainPrefix: shop });
    const renewing = oldAnswer();
    await late.struck;
    expect(await newAnswer()).toBe(500);
    late.release();
    expect(await renewing).toBe(200);
    clock.advance(10_000); // how long a process trusts its copy
    expect([await newAnswer(), await oldAnswer()]).toEqual([200, 200]);
  });

  test.each([
    ["made ready leaves it alone", refresh, 200],
    ["not made ready replaces it by a spent one, and the store is lost", carelessRefresh, 500],
  ])(
    "a new process has saved a rotated refresh token meanwhile: the old program %s",
    async (_, ofOld, status) => {
      const { oldAnswer, newAnswer, sandbox, clock } = await sideBySide(ofOld, { rotation: "sometimes" });
      clock.advance(DAY_MS);
      expect(await newAnswer()).toBe(200); // rotates
      clock.advance(DAY_MS);
      const late = sandbox.fault("late", { domainPrefix: shop });
      const renewing = oldAnswer(); // does not
      await late.struck;
      expect(await newAnswer()).toBe(200); // rotates
      late.release();
      await renewing;
      clock.advance(DAY_MS);
      expect(await oldAnswer()).toBe(status);
    },
  );
});

/** A schema of its own, the service, and what all processes share. */
async function startTown(more: Partial<SandboxOptions> = {}) {
  const schema = `test_${randomUUID().replaceAll("-", "")}`;
  const pools: pg.Pool[] = [];
  const connect = () => {
    const own = new pg.Pool({ connectionString: url, max: 4, options: `-c search_path=${schema}` });
    own.on("error", () => {});
    pools.push(own);
    return own;
  };
  const pool = connect();
  await pool.query(`CREATE SCHEMA ${schema}`);
  await pool.query(
    "CREATE TABLE store_tokens (store text PRIMARY KEY, access_token text, refresh_token text, expires_at timestamptz)",
  );

  let apps: RequestListener[] = [];
  let turn = 0;
  const balancer = await listen((req, res) => {
    turn += 1;
    apps[turn % apps.length]?.(req, res);
  });
  const clock = virtualClock();
  const redirectUri = `${balancer.origin}/login/callback`;
  const limits = { rateLimit: { limit: 10_000, windowMs: 1000 } };
  const sandbox = await startSandbox({ clock, lifetimeMs: DAY_MS, redirectUri, ...limits, ...more });
  onTestFinished(async () => {
    await balancer.close();
    await sandbox.close();
    await pool.query(`DROP SCHEMA ${schema} CASCADE`);
    await Promise.all(pools.map((each) => each.end()));
  });

  const sessions = new session.MemoryStore().setMaxListeners(100);
  const events: RetailPosEvent[] = [];
  /** A process of the library. */
  function client(store: TokenStore): RetailPos {
    const { authUrl, baseUrl, application } = sandbox;
    const { lock } = postgresTokens({ pool: connect() });
    const observe = (event: RetailPosEvent) => void events.push(event);
    return retailPos({ authUrl, baseUrl, ...application, store, lock, clock, observe });
  }
  await postgresTokens({ pool }).migrate();
  return {
    ...{ pool, connect, clock, sandbox, events, client },
    apps: () => apps,
    serve: (...next: RequestListener[]) => {
      apps = next;
    },
    old: (ofOld: Refresh) => oldProgram(sandbox, connect(), { sessions, refresh: ofOld, clock }),
    new: (store: TokenStore) => newProgram(client(store), sandbox, sessions),
    /** At one process: a person of their own. */
    async logInAt(app: RequestListener) {
      const before = apps;
      apps = [app];
      const { status } = await sandbox.visitor(shop).fetch("/login");
      apps = before;
      return status;
    },
  };
}

type Town = Awaited<ReturnType<typeof startTown>>;
type Traffic = Awaited<ReturnType<typeof startTraffic>>;

/** A person for each store logs in once, and asks for the store again and again. */
async function startTraffic(town: Town) {
  const visitors = retailers.map((retailer) => town.sandbox.visitor(retailer));
  for (const visitor of visitors) expect((await visitor.fetch("/login")).status).toBe(200);
  const failures: string[] = [];
  const asked = visitors.map(() => 0);
  let served = 0;
  let isOver = false;
  const underWay = new Set<Promise<void>>();

  async function ask(index: number): Promise<void> {
    const visitor = visitors[index] as (typeof visitors)[number];
    const answer = await visitor.fetch("/products");
    const text = await answer.text();
    if (answer.status === 200 && text.includes(`"${visitor.domainPrefix}"`)) served += 1;
    else failures.push(`${visitor.domainPrefix}: ${answer.status} ${text}`);
  }
  const loops = visitors.map(async (_, index) => {
    for (; !isOver; asked[index] = (asked[index] ?? 0) + 1) {
      const asking = ask(index).catch((error: unknown) => void failures.push(String(error)));
      underWay.add(asking);
      void asking.then(() => underWay.delete(asking));
      await Promise.race([asking, sleep(50)]); // two at a time and more, if an answer takes long
      await sleep(10);
    }
  });

  /** Waits until each person has got answers from each process. */
  async function rounds(): Promise<void> {
    const before = [...asked];
    while (!isOver && asked.some((count, index) => count < (before[index] ?? 0) + 6)) await sleep(10);
    await Promise.all(underWay);
  }
  async function end() {
    isOver = true;
    await Promise.all(loops);
    await Promise.all(underWay);
    return { served, failures };
  }
  onTestFinished(async () => void (await end()));

  return {
    rounds,
    end,
    /** Every access token ends, while all processes serve. */
    async tokensEnd(): Promise<void> {
      town.clock.advance(DAY_MS + 1);
      await rounds();
    },
    /** Another process takes the place of one, which then serves what it has begun. */
    async replace(place: number, app: RequestListener): Promise<void> {
      town.serve(...town.apps().map((each, index) => (index === place ? app : each)));
      await rounds();
    },
    /** Other people of the same stores: the process whose turn it is gets the callback. */
    async othersLogIn(): Promise<void> {
      for (const retailer of retailers) {
        const { status } = await town.sandbox.visitor(retailer).fetch("/login");
        if (status !== 200) failures.push(`${retailer} could not log in: ${status}`);
      }
      await rounds();
    },
  };
}

async function everyoneWasServed({ events }: Town, traffic: Traffic): Promise<void> {
  const { served, failures } = await traffic.end();
  expect(failures).toEqual([]);
  expect(served).toBeGreaterThan(200);
  expect(events.map(({ type }) => type)).not.toContain("reconnect_required");
}

/** An old and a new process on one table, where one store is connected. */
async function sideBySide(ofOld: Refresh, more: Partial<SandboxOptions> = {}) {
  const town = await startTown(more);
  const { pool, clock, sandbox } = town;
  await pool.query(addColumn);
  const apps = { old: town.old(ofOld).app, new: town.new(oldTable(town.connect())) };
  const visitor = sandbox.visitor(shop);
  town.serve(apps.old);
  await visitor.fetch("/login");
  const answerOf = (which: "old" | "new") => async () => {
    town.serve(apps[which]);
    return (await visitor.fetch("/products")).status;
  };
  return { town, clock, sandbox, oldAnswer: answerOf("old"), newAnswer: answerOf("new") };
}

/** Waits until the service has refused a refresh token. */
async function refused(sandbox: Sandbox): Promise<void> {
  while (!sandbox.tokenRequests(shop).some(({ status }) => status === 400)) await sleep(10);
}

/** Beside the real rows. */
async function passesContract(store: TokenStore): Promise<void> {
  const declared: (() => unknown)[] = [];
  storeContract(
    (_name, check) => void declared.push(check),
    () => store,
    { shared: true },
  );
  expect(declared.length).toBeGreaterThan(20);
  for (const check of declared) await check();
}

/** The block of the page in which these words are, as a module. */
async function moduleWith(words: string): Promise<object> {
  const folder = join(root, "node_modules", ".docs", "moving-over"); // there, so that the packages are found
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${randomUUID()}.mjs`);
  writeFileSync(file, shown.find(({ text }) => text.includes(words))?.text ?? "");
  return import(file);
}
