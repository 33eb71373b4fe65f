// pnpm bench [--quick | --print] [scenario ...]: runs the scenarios, prints what came of them, publishes the figures.
import { readdir, readFile, writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { commitOf } from "./lib/commit.mjs";
import { plot } from "./lib/plot.mjs";
import { allDetails, details, resultOf, sideBySide, summary, writeBetweenMarkers } from "./lib/report.mjs";

/** In the order of the document; a scenario that is not named here comes last. */
const ORDER = [
  "warm",
  "http",
  "herd",
  "herd-processes",
  "steady",
  "rate-limit",
  "growth",
  "hosts",
  "fleet",
  "load",
  "trouble",
];
const HERE = new URL("./", import.meta.url);
const DOCS = new URL("../docs/", HERE);

const { values, positionals: named } = parseArgs({
  options: { quick: { type: "boolean", default: false }, print: { type: "boolean", default: false } },
  allowPositionals: true,
});

const files = (await readdir(new URL("scenarios/", HERE)))
  .filter((file) => file.endsWith(".mjs"))
  .map((file) => file.replace(/\.mjs$/, ""))
  .sort((one, other) => place(one) - place(other));
const all = [];
for (const file of files) {
  const scenarios = [(await import(`./scenarios/${file}.mjs`)).default].flat();
  all.push(...scenarios.map((scenario) => ({ ...scenario, names: [file, scenario.id] })));
}
const known = new Set(all.flatMap(({ names }) => names));
const unknown = named.filter((name) => !known.has(name));
if (unknown.length > 0) {
  console.error(`There is no scenario ${unknown.join(", ")}; there are ${[...known].join(", ")}`);
  process.exit(1);
}

const commit = await commitOf(HERE);
const fresh = new Map();
for (const scenario of all) {
  if (named.length > 0 && !scenario.names.some((name) => named.includes(name))) continue;
  await runOne(scenario);
  if (!values.quick && !values.print) await publish(); // at once: all of them take more than an hour, and one may hang
}

async function runOne(scenario) {
  const { id, title, rounds, quickRounds = 1 } = scenario;
  const note = (text) => process.stderr.write(`  ${text}\n`);
  process.stderr.write(`${title}\n`);
  try {
    const node = (await scenario.node?.()) ?? process.version;
    const date = new Date().toISOString().slice(0, 10);
    const ran = { rounds: values.quick ? quickRounds : rounds, node, commit, date };
    const rows = await scenario.run({
      rounds: ran.rounds,
      quick: values.quick,
      note,
    });
    const result = resultOf(scenario, rows, ran);
    fresh.set(id, result);
    console.log(`${details(result)}\n`);
    for (const { reached, ...target } of result.targets) {
      if (!reached) console.log(`missed: ${JSON.stringify(target)}\n`);
    }
  } catch (error) {
    process.exitCode = 1;
    console.error(`${title} could not be run`, error);
  }
}

/** A scenario that did not run now keeps the figures of its last run. */
async function publish() {
  const file = new URL("results.json", HERE);
  const last = JSON.parse(await readFile(file, "utf8").catch(() => "[]"));
  const results = all.flatMap(({ id }) => fresh.get(id) ?? last.find((result) => result.id === id) ?? []);
  await writeFile(file, `${JSON.stringify(results, null, 2)}\n`);
  await writeFile(new URL("RESULTS.md", HERE), allDetails(results));
  const [losses, costs] = [true, false].map((is) =>
    results.filter(({ id }) => id.startsWith("survival") === is),
  );
  if (losses.length > 0) await writeBetweenMarkers(new URL("comparison.md", DOCS), sideBySide(losses));
  await writeBetweenMarkers(new URL("performance.md", DOCS), summary(costs));
  await writeFile(new URL("performance.svg", DOCS), await plot(costs));
}

function place(file) {
  const index = ORDER.indexOf(file);
  return index === -1 ? ORDER.length : index;
}
