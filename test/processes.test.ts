import { describe, expect, type TestContext, test, vi } from "vitest";
import { canRun as hasPostgres } from "../packages/store-postgres/testing/postgres.js";
import { canRun as hasRedis } from "../packages/store-redis/testing/redis.js";
import { type Application, type Called, startApplication, type Worker } from "./support/processes.js";

// Several real processes on one engine, beside one service that rotates every refresh token.

const retailer = "harbour-coffee";
/** Another retailer, whose tokens end at the same time, with nothing in the way of their renewal. */
const neighbour = "second-chapter";
const LIFETIME_MS = 600_000;
/** A token request may take longer than the lease of a lock. */
const PATIENT = { timeoutMs: 300_000 };

const engines = [...(hasRedis ? ["redis"] : []), ...(hasPostgres ? ["postgres"] : []), "sqlite"];

// Side by side: most of their time most of them wait for the lease of a process that was killed or stands still.
vi.setConfig({ maxConcurrency: 10 });

describe.concurrent.each(engines)("several processes on %s", { timeout: 300_000 }, (engine) => {
  const application = (
    { onTestFinished }: TestContext,
    settings: { timeoutMs?: number; processes?: number } = {},
  ) =>
    startApplication({
      engine,
      retailers: [retailer, neighbour],
      lifetimeMs: LIFETIME_MS,
      onTestFinished,
      ...settings,
    });

  test("4 times 250 callers at expiry make one token request, over several expiries", async (context) => {
    const { sandbox, letPass, callAll } = await application(context, { processes: 4 });
    for (let expiry = 1; expiry <= 4; expiry += 1) {
      await letPass(LIFETIME_MS);
      const answers = await callAll(retailer, 250);
      expect(errorsOf(answers)).toEqual([]);
      expect(servedOf(answers)).toBe(1000);
      const values = valuesOf(answers);
      expect(values).toHaveLength(1);
      expect(sandbox.accepts(retailer, values[0] ?? "")).toBe(true);
      expect(sandbox.tokenRequests(retailer)).toHaveLength(1 + expiry);
    }
  });

  test("a slow answer of the token endpoint is waited for by all, and no second request goes out", async (context) => {
    const { sandbox, letPass, callAll } = await application(context);
    const late = sandbox.fault("late", { domainPrefix: retailer });
    await letPass(LIFETIME_MS);
    const answers = callAll(retailer, 50);
    await late.struck;
    late.release();
    expect((await answers).map(({ served }) => served)).toEqual([50, 50, 50]);
    expect(sandbox.tokenRequests(retailer)).toHaveLength(2);
  });

  describe("one that is killed while it renews", () => {
    test("before the service rotated, costs nobody a login", async (context) => {
      const app = await application(context);
      const silence = app.sandbox.fault("silence", { domainPrefix: retailer });
      await app.letPass(LIFETIME_MS);
      const [victim] = app.processes() as [Worker];
      victim.call(retailer, 1);
      await silence.struck;
      await victim.kill();
      const answers = await app.callAll(retailer, 50);
      expect(errorsOf(answers)).toEqual([]);
      expect(servedOf(answers)).toBe(100);
      expect(app.answers(retailer)).toEqual([200, "silence", 200]);
      await everybodyIsServed(app);
    });

    test("after the service rotated, loses the token nobody received: the retailer is told to log in, and can", async (context) => {
      const app = await application(context);
      const late = app.sandbox.fault("late", { domainPrefix: retailer });
      await app.letPass(LIFETIME_MS);
      const [victim] = app.processes() as [Worker];
      victim.call(retailer, 1);
      await late.struck; // rotated; the answer is held back
      await victim.kill();
      late.release();
      everybodyIsToldToLogIn(await app.callAll(retailer, 1));
      await app.logIn(retailer);
      await app.letPass(20_000); // longer than a process trusts its copy
      await everybodyIsServed(app);
    });
  });

  describe("one that stands still while it renews, until another has its lock", () => {
    test("saves what it is answered when it wakes, though the other was refused the spent token", async (context) => {
      const app = await application(context, PATIENT);
      const late = app.sandbox.fault("late", { domainPrefix: retailer });
      await app.letPass(LIFETIME_MS);
      const [sleeper, ...others] = app.processes() as [Worker, ...Worker[]];
      const asked = sleeper.call(retailer, 20);
      await late.struck; // rotated; the answer is held back
      sleeper.pause();

      everybodyIsToldToLogIn(await callEach(others, retailer));
      expect(errorsOf(await callEach(others, neighbour))).toEqual([]);
      expect(app.answers(retailer)).toEqual([200, "late", 400]);

      sleeper.resume();
      late.release();
      expect(await asked).toMatchObject({ served: 20, errors: [] });
      expect(app.answers(retailer)).toEqual([200, 200, 400]);
      await everybodyIsServed(app);
    });

    test("uses the tokens that the other saved, when its own request fails", async (context) => {
      const app = await application(context);
      const silence = app.sandbox.fault("silence", { domainPrefix: retailer });
      await app.letPass(LIFETIME_MS);
      const [sleeper, ...others] = app.processes() as [Worker, ...Worker[]];
      const asked = sleeper.call(retailer, 20);
      await silence.struck; // not rotated, and never answered
      sleeper.pause();

      expect(errorsOf(await callEach(others, retailer))).toEqual([]);
      expect(errorsOf(await callEach(others, neighbour))).toEqual([]);

      sleeper.resume();
      expect((await asked).errors).toEqual([expect.stringContaining("no answer within")]);
      expect(app.answers(retailer)).toEqual([200, "silence", 200]);
      await everybodyIsServed(app);
    });

    test("uses the tokens that the other saved, when its own request arrives too late and is refused", async (context) => {
      const app = await application(context, PATIENT);
      await app.letPass(LIFETIME_MS);
      const [sleeper, ...others] = app.processes() as [Worker, ...Worker[]];
      await sleeper.ask("holdRequests");
      const sends = sleeper.says("sends");
      const asked = sleeper.call(retailer, 20);
      await sends;
      sleeper.pause();

      const served = await callEach(others, retailer);
      expect(errorsOf(served)).toEqual([]);
      expect(errorsOf(await callEach(others, neighbour))).toEqual([]);

      sleeper.resume();
      await sleeper.ask("letRequestsGo");
      expect(await asked).toEqual({ served: 20, values: valuesOf(served), errors: [] });
      expect(app.answers(retailer)).toEqual([200, 200, 400]);
      await everybodyIsServed(app);
    });
  });

  describe("a store that cannot be used just after the service rotated", () => {
    test("is waited for, for a few seconds: nobody notices, and nobody sends the spent token", async (context) => {
      const app = await application(context);
      const { holder, others, asked, away } = await renewalWithoutStore(app);
      const waiting = callEach(others, retailer);
      await away;
      await open(app);

      expect(await asked).toMatchObject({ served: 20, errors: [] });
      expect(holder.said).not.toContain("unsaved");
      // Whoever asked for the lock meanwhile may have failed. Nobody is sent to log in.
      expect(errorsOf(await waiting)).not.toContainEqual(toldToLogIn);
      expect(app.answers(retailer)).toEqual([200, 200]);
      await everybodyIsServed(app);
    });

    test("for longer, has the tokens in the end: the process that got them goes on trying, and its callers are served", async (context) => {
      const app = await application(context);
      const { holder, asked, unsaved } = await renewalWithoutStore(app);
      await unsaved;
      expect(await asked).toMatchObject({ served: 20, errors: [] });
      const saved = holder.says("saved");
      await open(app);

      expect(await holder.call(retailer, 20)).toMatchObject({ served: 20, errors: [] });
      await saved;
      expect(app.answers(retailer)).toEqual([200, 200]);
      await everybodyIsServed(app);
    });

    test("for longer, has them in the end even if others were refused the spent token before", async (context) => {
      const app = await application(context);
      const { holder, others, asked, unsaved } = await renewalWithoutStore(app);
      await unsaved;
      expect(await asked).toMatchObject({ served: 20, errors: [] });
      holder.pause(); // it also saves while nobody asks, which must not come before the others' turn
      await open(app, others);

      everybodyIsToldToLogIn(await callEach(others, retailer));
      const saved = holder.says("saved");
      holder.resume();
      expect(await holder.call(retailer, 20)).toMatchObject({ served: 20, errors: [] });
      await saved;
      expect(app.answers(retailer)).toEqual([200, 200, 400]);
      await everybodyIsServed(app);
    });
  });
});

/**
 * One process renews; between the service's rotation and its answer the store goes away. What follows may come at any
 * moment after the answer, so it is listened for before. `away`: a save has failed. `unsaved`: the lock is given up.
 */
async function renewalWithoutStore({ sandbox, way, letPass, processes }: Application) {
  const late = sandbox.fault("late", { domainPrefix: retailer });
  await letPass(LIFETIME_MS);
  const [holder, ...others] = processes() as [Worker, ...Worker[]];
  const asked = holder.call(retailer, 20);
  await late.struck;
  way.shut();
  const away = holder.says("save failed");
  const unsaved = holder.says("unsaved");
  late.release();
  return { holder, others, asked, away, unsaved };
}

/** @param reaching who has to reach the store before the test goes on. */
async function open({ way, processes }: Application, reaching = processes()): Promise<void> {
  way.open();
  await Promise.all(reaching.map((process) => process.ask("reachStore", retailer)));
}

/**
 * Each retailer is served in every process, also in one that has just started, with what the store holds; and
 * after the next expiry again, by one token request.
 */
async function everybodyIsServed(app: Application): Promise<void> {
  const newcomer = await app.start();
  for (const each of [retailer, neighbour]) await isServed(each);
  await app.letPass(LIFETIME_MS);
  for (const each of [retailer, neighbour]) {
    const before = app.answers(each);
    await isServed(each);
    expect(app.answers(each)).toEqual([...before, 200]);
  }

  async function isServed(domainPrefix: string): Promise<void> {
    const answers = await app.callAll(domainPrefix, 10);
    expect(errorsOf(answers)).toEqual([]);
    const stored = await newcomer.stored(domainPrefix);
    expect(stored).not.toHaveProperty("refusedAt");
    expect(valuesOf(answers)).toEqual([stored.access.value]);
    expect(app.sandbox.accepts(domainPrefix, stored.access.value)).toBe(true);
  }
}

function everybodyIsToldToLogIn(answers: Called[]): void {
  expect(answers.map(({ errors }) => errors)).toEqual(answers.map(() => [toldToLogIn]));
}

const toldToLogIn = expect.stringContaining("log in with the store again");

const callEach = (processes: Worker[], domainPrefix: string) =>
  Promise.all(processes.map((process) => process.call(domainPrefix, 20)));
const errorsOf = (answers: Called[]) => [...new Set(answers.flatMap(({ errors }) => errors))];
const valuesOf = (answers: Called[]) => [...new Set(answers.flatMap(({ values }) => values))];
const servedOf = (answers: Called[]) => answers.reduce((sum, { served }) => sum + served, 0);
