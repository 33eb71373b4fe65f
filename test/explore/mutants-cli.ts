// pnpm mutants [--schedules N] [--mutant part-of-a-name]: how many schedules it takes until each mutant is caught.
import { parseArgs } from "node:util";
import { coreText } from "./core.js";
import { type Explored, explore } from "./explore.js";
import { MUTANTS, type Mutant } from "./mutants.js";
import { changeFor } from "./mutate.js";
import { Runs } from "./runs.js";
import { scenariosOf } from "./stories.js";

const { values } = parseArgs({
  options: { schedules: { type: "string", default: "12000" }, mutant: { type: "string", default: "" } },
});
process.on("unhandledRejection", () => {}); // a mutant may forget to listen

const unchanged = await hunt(new Runs(await coreText()), {});
if (unchanged.found) throw new Error("Core itself is caught: run pnpm explore");
console.log("| mutant | caught after | the promise that it broke |\n|---|---|---|");
for (const mutant of MUTANTS.filter(({ name }) => name.includes(values.mutant))) {
  const { found, schedules } = await hunt(new Runs(await coreText(changeFor(mutant))), mutant);
  const caught = `${schedules} | ${found?.violation.promise}`;
  const outcome = found ? caught : `not in ${schedules} | ${mutant.equivalent ?? ""}`;
  console.log(`| ${mutant.name} | ${outcome} |`);
  if (Boolean(found) === (mutant.equivalent !== undefined)) process.exitCode = 1;
}
/** In its story everything is searched through. Without one: walks by chance see more of life sooner. */
async function hunt(runs: Runs, { story }: Pick<Mutant, "story">): Promise<Explored> {
  const until = Number.POSITIVE_INFINITY;
  const all = Number(values.schedules);
  if (story !== undefined)
    return explore(runs, { schedules: all, until, searched: 1, scenarios: scenariosOf(story) });
  const half = Math.floor(all / 2);
  const walked = await explore(runs, { schedules: half, until, searched: 0 });
  if (walked.found) return walked;
  const searched = await explore(runs, { schedules: half, until, searched: 1 });
  return { ...searched, schedules: walked.schedules + searched.schedules };
}
