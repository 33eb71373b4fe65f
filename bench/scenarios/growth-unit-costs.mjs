// What one retailer and one renewal take of each engine: the figures that docs/capacity.md reckons with.
import { inFreshProcess } from "../lib/process.mjs";
import { interleaved, ratioTo } from "../lib/rounds.mjs";
import { tokenService } from "../lib/service.mjs";

const engines = { redis: "Redis", postgres: "PostgreSQL", sqlite: "SQLite" };
const worker = new URL("growth/unit-costs.mjs", import.meta.url);

const unitCosts = {
  id: "growth-unit-costs",
  title: "growth: load on the database",
  floor: "none: these are for reckoning",
  rounds: 9,
  quickRounds: 1,
  figures: {
    bytes: "bytes for a retailer with tokens of 64 characters",
    longBytes: "bytes for a retailer with tokens of 1,000 characters",
    renewedBytes: "bytes for a retailer after days of renewals",
    hit: "statements for a call whose token is in the process's memory",
    lookUp: "statements for a call that loads its token from the token store",
    renewal: "statements for a renewal",
    waiter: "statements for a process that waits 100 ms for another process's renewal",
  },
  targets: Object.values(engines).flatMap((row) => [
    { row, figure: "hit", exactly: 0 },
    { row, figure: "lookUp", exactly: 1 },
    { row, figure: "renewal", exactly: row === "SQLite" ? 6 : 5 }, // SQLite looks before it writes
  ]),
  async run({ quick, rounds, note = () => {} }) {
    const rows = {};
    for (const [engine, name] of Object.entries(engines)) {
      note(name);
      rows[name] = await inFreshProcess(worker, {
        engine,
        retailers: quick ? 5000 : 100_000,
        expiries: rounds,
      });
    }
    return rows;
  },
};

const processor = {
  id: "growth-renewal-cpu",
  title: "growth: CPU of the application's process for one renewal",
  floor: "the same POST by plain fetch, nothing kept",
  rounds: 9,
  quickRounds: 1,
  figures: { ratio: "CPU of a renewal ÷ CPU of the same POST by plain fetch" },
  targets: [],
  async run({ rounds }) {
    const service = await tokenService({ delayMs: 0 });
    try {
      const contestants = ["fetch", "memory", ...Object.keys(engines)];
      const results = await interleaved(contestants, rounds, (engine) =>
        inFreshProcess(new URL("growth/renewal-cpu.mjs", import.meta.url), {
          engine,
          address: service.address,
        }),
      );
      const ratios = ratioTo(results, "fetch");
      const ours = ([engine, name]) => [`ours, ${name}`, { ratio: ratios.get(engine) }];
      return {
        "plain fetch": { ratio: ratios.get("fetch") },
        ...Object.fromEntries(Object.entries({ memory: "memory", ...engines }).map(ours)),
      };
    } finally {
      await service.close();
    }
  },
};

export default [unitCosts, processor];
