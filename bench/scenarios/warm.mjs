import { contestant, RENEWING } from "../contestants/index.mjs";
import { inFreshProcess } from "../lib/process.mjs";
import { interleaved, median, ratioTo } from "../lib/rounds.mjs";
import { tokenService } from "../lib/service.mjs";

const WORKER = new URL("./warm/worker.mjs", import.meta.url);
const FLOOR = "map";
const FILES = [FLOOR, "ours", "ours-now", ...RENEWING.slice(1), "slack-oauth"];
const MANY = 100_000;

const rounds = 9;
const quickRounds = 2;
const floor = "a `Map` look-up behind an `async` function";
const figures = { toHandWritten: "time, of the hand-written", ratio: "time, of the floor" };

const one = {
  id: "warm-1",
  title: "warm: the bearer of the one known retailer",
  floor,
  figures,
  targets: [{ figure: "toHandWritten", atMost: 1.15 }],
  rounds,
  quickRounds,
  async run({ rounds }) {
    const [tokens] = await loggedIn(1);
    const results = await interleaved(FILES, rounds, (file) => timed(file, tokens));
    return rowsOf(comparison(results));
  },
};

const many = {
  id: "warm-100000",
  title: "warm: the bearer of one of 100,000 known retailers",
  floor,
  figures: { ...figures, growth: "time, of its own with 1 retailer" },
  targets: [
    { figure: "toHandWritten", atMost: 1.5 },
    { figure: "growth", noMoreThan: "Map look-up" },
  ],
  rounds,
  quickRounds,
  async run({ rounds }) {
    const [few, lots] = await loggedIn(1, MANY);
    const alone = new Map(FILES.map((file) => [file, []]));
    const results = await interleaved(FILES, rounds, async (file) => {
      alone.get(file).push(await timed(file, few));
      return timed(file, lots);
    });
    const growth = (file) => median(results.get(file).map((took, round) => took / alone.get(file)[round]));
    return rowsOf((file) => ({ ...comparison(results)(file), growth: growth(file) }));
  },
};

export default [one, many];

/** Logins that took place before, of so many retailers each. */
async function loggedIn(...counts) {
  const service = await tokenService();
  const logins = await Promise.all(
    counts.map((count) => service.issue(Array.from({ length: count }, (_, number) => `store-${number}`))),
  );
  await service.close();
  return logins;
}

const timed = (file, logins) => inFreshProcess(WORKER, { file, logins });

function comparison(results) {
  const toFloor = ratioTo(results, FLOOR);
  const toHandWritten = ratioTo(results, "hand-written");
  return (file) => ({ toHandWritten: toHandWritten.get(file), ratio: toFloor.get(file) });
}

async function rowsOf(figuresOf) {
  const rows = {};
  for (const file of FILES) rows[(await nameOf(file)) ?? file] = figuresOf(file);
  return rows;
}

async function nameOf(file) {
  if (file === FLOOR) return "Map look-up";
  if (file === "ours-now") return "ours, tokenNow()";
  return (await contestant(file)).name;
}
