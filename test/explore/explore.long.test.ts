import { expect, test } from "vitest";
import { coreText } from "./core.js";
import { ownTurn } from "./drain.js";
import { explore } from "./explore.js";
import { report } from "./report.js";
import { Runs } from "./runs.js";
import { shrunk } from "./shrink.js";

/** `pnpm test:unit` asks for a tenth. A slow machine comes less far in the time. */
const isQuick = Number(process.env["FUZZ_SHARE"] ?? 1) < 1;
const [SCHEDULES, SECONDS] = isQuick ? [5_000, 20] : [50_000, 120];

test("whatever order things happen in, and whatever goes wrong, every promise about tokens is kept", {
  timeout: 2 * SECONDS * 1000,
}, async () => {
  const runs = new Runs(await coreText());
  const until = performance.now() + SECONDS * 1000;
  const { found, schedules } = await explore(runs, { schedules: SCHEDULES, until });
  expect(found && (await ownTurn(() => report(runs, shrunk(runs, found))))).toBeUndefined();
  expect(schedules).toBeGreaterThan(500);
});
