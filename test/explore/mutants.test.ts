import { describe, expect, test } from "vitest";
import { coreText } from "./core.js";
import { explore } from "./explore.js";
import { MUTANTS } from "./mutants.js";
import { changeFor } from "./mutate.js";
import { Runs } from "./runs.js";

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
});
