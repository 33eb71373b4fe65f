import fc from "fast-check";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { holds } from "./support/fuzz.js";
import { afterwards, born, lives } from "./support/model/commands.js";
import { openWorld, type Setting } from "./support/model/world.js";

// Waiting for a store that fails or a service that is silent takes no time; the service's and the
// application's clocks are virtual anyway.
beforeAll(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  vi.spyOn(AbortSignal, "timeout").mockImplementation(atOnce);
});
afterAll(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** Core waits for an answer that is late by a signal of the platform, whose time is real. Here nobody answers late. */
function atOnce(): AbortSignal {
  const controller = new AbortController();
  queueMicrotask(() => controller.abort());
  return controller.signal;
}

const settings: fc.Arbitrary<Setting> = fc.record({
  rotation: fc.constantFrom("always", "always", "never", "sometimes"),
  cacheMs: fc.constantFrom(0, 10_000),
  rateLimit: fc.constantFrom(300, 300, 3),
  isLoggedIn: fc.constantFrom(true, true, true, true, false),
});

test("whatever happens to a retailer's tokens, none is lost, asked for twice, or kept from its callers", async () => {
  await holds(
    fc.asyncProperty(fc.scheduler(), settings, lives, async (scheduler, setting, life) => {
      const world = await openWorld(setting, scheduler);
      try {
        if (setting.isLoggedIn) await born(world);
        await fc.asyncModelRun(() => ({ model: {}, real: world }), life);
        await afterwards(world);
        expect(world.sandbox.requests.filter(({ endpoint }) => endpoint === "trap")).toEqual([]);
        expect(
          world.sandbox.requests.every(({ endpoint, authorization }) => endpoint !== "api" || authorization),
        ).toBe(true);
      } finally {
        await world.close();
      }
    }),
    150,
  );
});
