// A retailer's token ends while four processes have 250 callers each for it, all in the same instant.
// `NODE_FLAGS` is what Node is given for each process. With `--no-lazy`, V8 compiles at the import, not on first use.

import { tokenSet } from "../contestants/ours.mjs";
import { interleaved, least, median, most, ratioTo } from "../lib/rounds.mjs";
import { checkBearers, tokenService } from "../lib/service.mjs";
import { engines } from "./growth/populations.mjs";
import { startProcess } from "./growth/standing-process.mjs";
import { names } from "./herd-processes/contestants.mjs";

const WORKER = new URL("./herd-processes/worker.mjs", import.meta.url);
const PROCESSES = 4;
const CALLERS = 250;
const ALL = PROCESSES * CALLERS;
/** Each of a retailer of its own: who lost a refresh token in one is as good as new in the next. */
const EXPIRIES = 20;
/** Two rows each: what the name is followed by, and the expiries whose time counts for it. */
const STRETCHES = {
  /** By the eleventh, a herd takes as long as the one before it. */
  "": (expiries) => expiries.slice(-10),
  /** Hardly anything is compiled, and most of it runs for the first time. */
  ", processes just started": (expiries) => expiries.slice(0, 5),
};
const FLAGS = process.env.NODE_FLAGS?.split(" ") ?? [];
/** Time enough for all processes to have called once before the token ends. */
const LIFETIME_MS = 700;

export default {
  id: "herd-processes",
  title: "herd across 4 processes: 1,000 callers want one retailer's token when it expires",
  floor: "one token request made by plain fetch, 100 ms",
  rounds: 5,
  quickRounds: 1,
  figures: {
    ratio: "time until all are served ÷ time of one token request",
    looked: "of this: to take the lock and read the token store",
    answered: "of this: until the token endpoint answered",
    saved: "of this: to save the token set",
    served: "of this: to serve all callers",
    requests: "token requests",
    callers: "callers served",
  },
  targets: ["ours, Redis", "ours, PostgreSQL", "ours, SQLite"].flatMap((name) =>
    Object.keys(STRETCHES).flatMap((stretch) => [
      { row: name + stretch, figure: "ratio", atMost: 1.3 },
      { row: name + stretch, figure: "requests", exactly: 1 },
      { row: name + stretch, figure: "callers", exactly: ALL },
    ]),
  ),
  async run({ rounds, note = () => {} }) {
    const service = await tokenService();
    try {
      const results = await interleaved(Object.keys(names), rounds, (kind, round) => {
        note(`${round + 1}/${rounds} ${names[kind]}`);
        return severalExpiries(service, kind);
      });
      const rows = {};
      for (const [stretch, counted] of Object.entries(STRETCHES)) {
        const ofStretch = new Map(
          [...results].map(([kind, rounds]) => [kind, rounds.map((expiries) => worked(expiries, counted))]),
        );
        for (const [kind, figures] of rowsOf(ofStretch)) rows[names[kind] + stretch] = figures;
      }
      return rows;
    } finally {
      await service.close();
    }
  },
};

/** One row for each kind but the floor: of the times the median, of what must not happen the worst. */
function rowsOf(results) {
  const ratios = ratioTo(results, "floor", ({ tookMs }) => tookMs);
  return [...results.keys()]
    .filter((kind) => kind !== "floor")
    .map((kind) => {
      const rounds = results.get(kind);
      const callers = least(of("callers", rounds));
      const isServed = callers === ALL; // how fast callers are turned away is no figure
      const figures = {
        ratio: isServed ? ratios.get(kind) : null,
        ...(isServed && partsOf(rounds, results.get("floor"))),
        requests: most(of("requests", rounds)),
        callers,
      };
      return [kind, figures];
    });
}

/** What of the time went to which step, in the size of the floor's. Together they are all of it. */
function partsOf(rounds, floor) {
  if (!rounds[0].parts) return {};
  const share = (step) => median(rounds.map(({ parts }, round) => parts[step] / floor[round].tookMs));
  return Object.fromEntries(Object.keys(rounds[0].parts).map((step) => [step, share(step)]));
}

/** How long those expiries took that count; of all, the worst of what must not happen. */
function worked(expiries, counted) {
  const timed = counted(expiries);
  return {
    tookMs: median(of("tookMs", timed)),
    callers: least(of("callers", expiries)),
    requests: most(of("requests", expiries)),
    ...(timed[0].parts && { parts: medians(of("parts", timed)) }),
  };
}

async function severalExpiries(service, kind) {
  const engine = kind.match(/postgres|sqlite/)?.[0] ?? "redis";
  const name = `bench_herd_${process.pid}`;
  const shared = await engines[engine](name);
  const processes = await Promise.all(
    Array.from({ length: PROCESSES }, () => startProcess(WORKER, { execArgv: FLAGS })),
  );
  try {
    await Promise.all(
      processes.map((worker) => worker.ask("open", { kind, engine, name, address: service.address })),
    );
    await service.reset();
    const expiries = [];
    while (expiries.length < EXPIRIES) {
      const [login] = await service.issue([`corner-store-${expiries.length}`], LIFETIME_MS);
      await shared.tokens.store.save(tokenSet(login.retailer, login));
      const callers = callersOf(kind);
      const outcomes = await Promise.all(
        processes.map((worker, index) => worker.ask("herd", { login, callers: callers[index] })),
      );
      expiries.push(await summary(service, login, outcomes));
    }
    return expiries;
  } finally {
    await Promise.allSettled(processes.map((worker) => worker.ask("close")));
    await shared.remove();
    await shared.close();
  }
}

/** The floor's one request comes from any of the processes, as the first to take a lock is any of them. */
function callersOf(kind) {
  if (kind !== "floor") return Array(PROCESSES).fill(CALLERS);
  const sender = Math.floor(Math.random() * PROCESSES);
  return Array.from({ length: PROCESSES }, (_, index) => (index === sender ? CALLERS : 0));
}

const of = (figure, expiries) => expiries.map((expiry) => expiry[figure]);

function medians(parts) {
  return Object.fromEntries(Object.keys(parts[0]).map((step) => [step, median(of(step, parts))]));
}

/** How long each step took of the process that sent the token request; then the others were served. */
function partsOfOne(outcomes, tookMs) {
  const sender = outcomes.find(({ steps }) => steps.some(({ step }) => step === "saved"));
  if (!sender) return undefined;
  const { start, steps } = sender;
  const at = (wanted) => steps.find(({ step }) => step === wanted).at;
  const [looked, answered, saved] = [at("looked"), at("answered"), at("saved")];
  return {
    looked: looked - start,
    answered: answered - looked,
    saved: saved - answered,
    served: start + tookMs - saved,
  };
}

async function summary(service, { retailer }, outcomes) {
  const handedOut = outcomes.flatMap(({ values }) => values).map((value) => ({ retailer, value }));
  await checkBearers(service, handedOut);
  const tookMs = Math.max(...outcomes.map(({ tookMs }) => tookMs));
  return {
    tookMs,
    parts: partsOfOne(outcomes, tookMs),
    callers: outcomes.reduce((sum, { served }) => sum + served, 0),
    requests: (await service.log()).filter((request) => request.retailer === retailer).length,
  };
}
