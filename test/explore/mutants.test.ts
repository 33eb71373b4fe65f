import { describe, expect, test } from "vitest";
import { coreText } from "./core.js";
import { ownTurn } from "./drain.js";
import { explore } from "./explore.js";
import { MUTANTS } from "./mutants.js";
import { changeFor } from "./mutate.js";
import { Runs } from "./runs.js";
import { read, written } from "./schedule.js";
import { scenarioNamed } from "./stories.js";

const until = Number.POSITIVE_INFINITY;
const isQuick = Number(process.env["FUZZ_SHARE"] ?? 1) < 1;

describe("the explorer can fail", () => {
  test("every mutant can be made: its text stands in core's source", () => {
    for (const mutant of MUTANTS) expect(() => changeFor(mutant), mutant.name).not.toThrow();
  });

  // `pnpm mutants` tries all of them.
  const sample = ["no lock", "handed out before it is saved", "the new refresh token is forgotten"];
  test.each(sample.slice(0, isQuick ? 1 : sample.length))("%s: it is caught", async (name) => {
    const mutant = MUTANTS.find((one) => one.name === name);
    if (!mutant) throw new Error(`There is no mutant "${name}"`);
    const runs = new Runs(await coreText(changeFor(mutant)));
    const { found } = await explore(runs, { schedules: 3_000, until, searched: 0 });
    expect(found?.violation).toBeDefined();
  });

  test("what is printed plays it again: the name of the scenario and the schedule", async () => {
    const mutant = MUTANTS.find(({ name }) => name === "no comparison under the lock");
    const runs = new Runs(await coreText(mutant && changeFor(mutant)));
    for (const searched of [1, 0]) {
      const { found } = await explore(runs, { schedules: 3_000, until, searched });
      if (!found) throw new Error("it was not caught");
      const again = () => runs.run(scenarioNamed(found.scenario.name), read(written(found.schedule)));
      expect((await ownTurn(again)).world.judge.violation).toEqual(found.violation);
    }
  });
});
