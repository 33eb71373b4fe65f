import { describe, expect, test } from "vitest";
import { canRun as hasPostgres } from "../packages/store-postgres/testing/postgres.js";
import { canRun as hasRedis } from "../packages/store-redis/testing/redis.js";
import { CONCURRENCY, fleetOf, LIFETIME_MS, sumOf } from "./support/fleet.js";
import type { Application, Worker } from "./support/processes.js";

// The whole fleet in four real processes on one engine, beside one service that rotates every refresh token.

/** How long a token endpoint answers 429. New tokens are not due before. */
const LIMITED_MS = 300_000;
/** On Redis; a file and a table are written to disk at each step, which takes this test longer. */
const MANY = 2_000;
const FEWER = 1_000;
/** So many on each engine. At most 10,000: the sandbox remembers no more requests. */
const ASKED = process.env["FLEET_RETAILERS"];

const engines: [engine: string, size: number][] = [
  ["sqlite", Number(ASKED ?? FEWER)],
  ...(hasRedis ? [["redis", Number(ASKED ?? MANY)] as [string, number]] : []),
  ...(hasPostgres ? [["postgres", Number(ASKED ?? FEWER)] as [string, number]] : []),
];

describe.each(engines)("four processes on %s", { timeout: 600_000 }, (engine, size) => {
  test(`renew ${size} retailers whose tokens ended, each by one request, and then nobody waits`, async ({
    onTestFinished,
  }) => {
    const app = await fleetOf(size, { engine, onTestFinished });
    await app.letPass(LIFETIME_MS);
    const reports = await app.renewDue();

    expect(sumOf(reports, "renewed")).toBe(size);
    for (const report of reports) {
      expect(report).toMatchObject({ seen: size, refused: 0, failed: 0, stopped: false });
      expect(report.due).toBe(report.renewed + report.elsewhere);
    }
    expect(app.refreshes()).toEqual(new Map(app.names.map((name) => [name, [200]])));
    expect(app.newRequests()).toBe(size);

    for (const report of await app.renewDue()) expect(report).toMatchObject({ seen: size, due: 0 });
    for (const { values, errors } of await callEach(app, app.names)) {
      expect(errors).toEqual([]);
      expect(app.names.filter((name, index) => !app.sandbox.accepts(name, values[index] ?? ""))).toEqual([]);
    }
    expect(app.newRequests()).toBe(size);
  });

  test("are stopped by a signal: what is under way ends, and nothing more goes out", async ({
    onTestFinished,
  }) => {
    const app = await fleetOf(100, { engine, onTestFinished });
    await app.letPass(LIFETIME_MS);
    const held = app.names.map((domainPrefix) => app.sandbox.fault("late", { domainPrefix }));
    const [process] = app.processes() as [Worker];
    const run = process.renewDue({ concurrency: CONCURRENCY });
    await until(() => held.filter(({ hits }) => hits > 0).length === CONCURRENCY);
    await process.stopRenewing();
    for (const answer of held) answer.release();

    expect(await run).toMatchObject({ due: CONCURRENCY, renewed: CONCURRENCY, stopped: true });
    expect(app.newRequests()).toBe(CONCURRENCY);
    expect(sumOf(await app.renewDue(), "renewed")).toBe(app.names.length - CONCURRENCY);
  });

  test("respect the limit of each token endpoint, and renew the others meanwhile", async ({
    onTestFinished,
  }) => {
    const app = await fleetOf(100, { engine, onTestFinished });
    await app.letPass(LIFETIME_MS);
    const limited = app.names.slice(0, 20);
    const free = app.names.slice(20);
    for (const name of limited) app.sandbox.limit(name, LIMITED_MS);

    expect(sumOf(await app.renewDue(), "renewed")).toBe(free.length);
    const answers = (ofLimited: number[]) =>
      new Map(app.names.map((name) => [name, limited.includes(name) ? ofLimited : [200]]));
    expect(app.refreshes()).toEqual(answers([429]));

    for (const waitMs of [0, LIMITED_MS - 2000]) {
      await app.letPass(waitMs);
      for (const report of await app.renewDue()) expect(report).toMatchObject({ seen: 100, due: 0 });
    }
    await app.letPass(3000);
    expect(sumOf(await app.renewDue(), "renewed")).toBe(limited.length);
    expect(app.refreshes()).toEqual(answers([429, 200]));
  });

  test("meet a 429 once for each retailer, all callers of all processes and of a new one together", async ({
    onTestFinished,
  }) => {
    const app = await fleetOf(20, { engine, onTestFinished });
    await app.letPass(LIFETIME_MS);
    for (const name of app.names) app.sandbox.limit(name, LIMITED_MS);
    const everybodyIsTold = async () => {
      for (const { served, errors } of await callEach(app, [...app.names, ...app.names])) {
        expect(served).toBe(0);
        expect(errors).toHaveLength(app.names.length); // each names its retailer
        for (const error of errors) expect(error).toMatch(/^RateLimitedError/);
      }
      expect(app.refreshes()).toEqual(new Map(app.names.map((name) => [name, [429]])));
    };
    await everybodyIsTold();
    const [victim] = app.processes() as [Worker];
    await victim.kill();
    await app.start();
    await everybodyIsTold();
    await app.letPass(LIMITED_MS - 2000);
    await everybodyIsTold();

    await app.letPass(3000);
    for (const { errors } of await callEach(app, app.names)) expect(errors).toEqual([]);
    expect(app.refreshes()).toEqual(new Map(app.names.map((name) => [name, [429, 200]])));
  });
});

const callEach = (app: Application, names: readonly string[]) =>
  Promise.all(app.processes().map((process) => process.callEach(names)));

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5));
}
