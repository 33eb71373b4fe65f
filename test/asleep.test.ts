import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { startApplication, type Worker } from "./support/processes.js";

test("a thread that stood still past the deadline reads the answer that arrived meanwhile", async ({
  onTestFinished,
}) => {
  const retailer = "harbour-coffee";
  const timeoutMs = 1000;
  const lifetimeMs = 600_000;
  const settings = { engine: "sqlite", retailers: [retailer], processes: 1, lifetimeMs, timeoutMs };
  const { sandbox, letPass, processes } = await startApplication({ ...settings, onTestFinished });
  const [sleeper] = processes() as [Worker];
  const late = sandbox.fault("late", { domainPrefix: retailer });
  await letPass(lifetimeMs);
  const called = sleeper.call(retailer, 1);
  await late.struck; // rotated
  sleeper.pause();
  late.release();
  await sleep(timeoutMs * 1.5);
  sleeper.resume();
  expect(await called).toMatchObject({ served: 1, errors: [] });
  expect(sandbox.tokenRequests(retailer)).toHaveLength(2);
});
