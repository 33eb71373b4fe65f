import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { canRun as hasPostgres } from "../packages/store-postgres/testing/postgres.js";
import { canRun as hasRedis } from "../packages/store-redis/testing/redis.js";
import { CONCURRENCY, type Fleet, fleetOf, sumOf } from "./support/fleet.js";
import type { Application, Worker } from "./support/processes.js";

// The whole fleet in four real processes on one engine, beside one service that rotates every refresh token.

/** How long a token endpoint answers 429. New tokens are not due before. */
const LIMITED_MS = 300_000;
/** More than `renewDue` reads at once (500). At most 10,000: the sandbox remembers no more requests. */
const MANY = Number(process.env["FLEET_RETAILERS"] ?? 600);
const FEW = 100;

const engines = ["sqlite", ...(hasRedis ? ["redis"] : []), ...(hasPostgres ? ["postgres"] : [])];

describe.each(engines)("four processes on %s", { timeout: 600_000 }, (engine) => {
  test(`renew ${MANY} retailers whose tokens ended, each by one request, and then nobody waits`, async ({
    onTestFinished,
  }) => {
    const app = await fleetOf(MANY, { engine, onTestFinished });
    await app.endTokens();
    const reports = await app.renewDue();

    expect(sumOf(reports, "renewed")).toBe(MANY);
    for (const report of reports) {
      expect(report).toMatchObject({ seen: MANY, refused: 0, failed: 0, stopped: false });
      expect(report.due).toBe(report.renewed + report.elsewhere);
    }
    expect(app.refreshes()).toEqual(new Map(app.names.map((name) => [name, [200]])));
    expect(app.newRequests()).toBe(MANY);

    for (const report of await app.renewDue()) expect(report).toMatchObject({ seen: MANY, due: 0 });
    for (const { values, errors } of await callEach(app, app.names)) {
      expect(errors).toEqual([]);
      expect(app.names.filter((name, index) => !app.sandbox.accepts(name, values[index] ?? ""))).toEqual([]);
    }
    expect(app.newRequests()).toBe(MANY);
  });
});

describe.each(engines)("the same four processes on %s", { timeout: 600_000 }, (engine) => {
  let app: Fleet;
  const ends: (() => Promise<void>)[] = [];
  beforeAll(async () => {
    app = await fleetOf(FEW, { engine, onTestFinished: (end) => ends.push(end) });
  });
  afterAll(() => Promise.all(ends.map((end) => end())));

  test("are stopped by a signal: what is under way ends, and nothing more goes out", async () => {
    await app.endTokens();
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

  test("respect the limit of each token endpoint, and renew the others meanwhile", async () => {
    await app.endTokens();
    const limited = app.names.slice(0, 20);
    const free = app.names.slice(20);
    for (const name of limited) app.sandbox.limit(name, LIMITED_MS);

    expect(sumOf(await app.renewDue(), "renewed")).toBe(free.length);
    const answers = (ofLimited: number[]) =>
      new Map(app.names.map((name) => [name, limited.includes(name) ? ofLimited : [200]]));
    expect(app.refreshes()).toEqual(answers([429]));

    for (const waitMs of [0, LIMITED_MS - 2000]) {
      await app.letPass(waitMs);
      for (const report of await app.renewDue()) expect(report).toMatchObject({ seen: FEW, due: 0 });
    }
    await app.letPass(3000);
    expect(sumOf(await app.renewDue(), "renewed")).toBe(limited.length);
    expect(app.refreshes()).toEqual(answers([429, 200]));
  });

  test("meet a 429 once for each retailer, all callers of all processes and of a new one together", async () => {
    await app.endTokens();
    const limited = app.names.slice(0, 20);
    for (const name of limited) app.sandbox.limit(name, LIMITED_MS);
    const answers = () => limited.map((name) => app.refreshes().get(name));
    const everybodyIsTold = async () => {
      for (const { served, errors } of await callEach(app, [...limited, ...limited])) {
        expect(served).toBe(0);
        expect(errors).toHaveLength(limited.length); // each names its retailer
        for (const error of errors) expect(error).toMatch(/^RateLimitedError/);
      }
      expect(answers()).toEqual(limited.map(() => [429]));
    };
    await everybodyIsTold();
    const [victim] = app.processes() as [Worker];
    await victim.kill();
    await app.start();
    await everybodyIsTold();
    await app.letPass(LIMITED_MS - 2000);
    await everybodyIsTold();

    await app.letPass(3000);
    for (const { errors } of await callEach(app, limited)) expect(errors).toEqual([]);
    expect(answers()).toEqual(limited.map(() => [429, 200]));
  });
});

const callEach = (app: Application, names: readonly string[]) =>
  Promise.all(app.processes().map((process) => process.callEach(names)));

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5));
}
