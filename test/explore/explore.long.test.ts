import { expect, test } from "vitest";
import { coreText } from "./core.js";
import { ownTurn } from "./drain.js";
import { explore } from "./explore.js";
import { report } from "./report.js";
import { Runs } from "./runs.js";
import { shrunk } from "./shrink.js";

/** Twice what finds every mutant that can be found (`pnpm mutants`). A slow machine comes less far in the time. */
const [SCHEDULES, SECONDS] = [24_000, 120];

test("whatever order things happen in, and whatever goes wrong, every promise about tokens is kept", {
  timeout: 2 * SECONDS * 1000,
}, async () => {
  const runs = new Runs(await coreText());
  const until = performance.now() + SECONDS * 1000;
  const { found, schedules } = await explore(runs, { schedules: SCHEDULES, until });
  expect(found && (await ownTurn(() => report(runs, shrunk(runs, found))))).toBeUndefined();
  expect(schedules).toBeGreaterThan(500);
});
