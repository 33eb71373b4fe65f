// Does a warm call, or a renewal, cost more the more retailers are stored? Two processes do the same work, one with
// 1,000 and one with 1,000,000 of them stored, in short rounds that take turns.
//
// `RETAILERS` is the larger number. A million take some 2 GB of memory here and in Redis, and 1 GB of PostgreSQL's
// disk.
import { median } from "../lib/rounds.mjs";
import { startProcess } from "./growth/standing-process.mjs";

const WORKER = new URL("growth/worker.mjs", import.meta.url);
const FEW = 1000;
const MANY = Number(process.env.RETAILERS ?? 1_000_000);
const QUICK_MANY = 20_000;
const TARGET = 1.3;
/** Rounds before those that count: code that has not run often is slower. */
const WARM_UP = 4;

/** What the rounds do: see growth/worker.mjs. */
const kinds = ["hit", "known", "first", "renewal"];
const engines = { map: "a Map", memory: "memory", redis: "Redis", postgres: "PostgreSQL" };

export default {
  id: "growth",
  title: `growth: time with ${MANY.toLocaleString("en")} stored retailers ÷ time with ${FEW.toLocaleString("en")}`,
  floor: "flat",
  rounds: 5,
  quickRounds: 3,
  figures: {
    hit: "a call whose token is in the process's memory",
    known: "a call that loads its token from the token store",
    first: "a process's first call for a retailer",
    renewal: "a renewal",
  },
  targets: [
    ...["Redis", "PostgreSQL"].flatMap((row) => kinds.map((figure) => ({ row, figure, atMost: TARGET }))),
    ...["hit", "renewal"].map((figure) => ({ row: "memory", figure, atMost: TARGET })),
    // The memory access itself takes longer the more there is: a look-up may not grow more than that.
    ...["known", "first"].map((figure) => ({ row: "memory", figure, noMoreThan: "a Map" })),
  ],
  async run({ rounds, quick, note = () => {} }) {
    const rows = {};
    for (const [engine, name] of Object.entries(engines)) {
      note(name);
      const pairs = await measured(engine, quick ? QUICK_MANY : MANY, rounds);
      rows[name] = Object.fromEntries(kinds.map((kind) => [kind, ratio(pairs[kind])]));
    }
    return rows;
  },
};

/** Per kind, what each round cost with few retailers stored and with many. */
async function measured(engine, many, rounds) {
  const pairs = Object.fromEntries(kinds.map((kind) => [kind, []]));
  const processes = [];
  try {
    for (const size of [FEW, many]) {
      processes.push(await startProcess(WORKER, { execArgv: ["--expose-gc", "--max-old-space-size=8192"] }));
      await processes.at(-1).ask("fill", { engine, size });
    }
    for (let round = -WARM_UP; round < rounds; round += 1) {
      for (const kind of kinds) {
        const pair = await onePair(processes, kind, round % 2 === 0);
        if (round >= 0) pairs[kind].push(pair);
      }
    }
    return pairs;
  } finally {
    await Promise.allSettled(processes.map((worker) => worker.ask("close")));
  }
}

/** They take turns, and so does who begins: whatever else the machine does meets both. */
async function onePair([few, many], kind, isFewFirst) {
  const ofFew = isFewFirst && (await few.ask("round", kind));
  const ofMany = await many.ask("round", kind);
  return [ofFew || (await few.ask("round", kind)), ofMany];
}

/** `null` where the engine has no such thing. */
function ratio(pairs) {
  return pairs[0][0] ? median(pairs.map(([few, many]) => many / few)) : null;
}
