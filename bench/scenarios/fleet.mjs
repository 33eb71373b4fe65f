// A night job: renewDue() over everybody who is stored, all of whose tokens have ended. What does a renewal cost in
// requests, statements and memory, and how near does the job come to waiting for the token endpoint and nothing else?
//
// `RETAILERS` is how many are stored. Eight at a time are watched for a minute only: all of them would take twenty.
import { startProcess } from "./growth/standing-process.mjs";

const WORKER = new URL("fleet/worker.mjs", import.meta.url);
const SIZE = Number(process.env.RETAILERS ?? 100_000);
const QUICK_SIZE = 2000;
const A_MINUTE_MS = 60_000;
const QUICK_MS = 3000;
const engines = { redis: "Redis", postgres: "PostgreSQL", sqlite: "SQLite" };

const rowsOf = (name) => [`ours, ${name}, 8 at a time`, `ours, ${name}, 64 at a time`];

export default {
  id: "fleet",
  title: `fleet: renewDue with ${SIZE.toLocaleString("en")} expired tokens`,
  floor: "one token request for each, 100 ms, so many at a time",
  rounds: 1,
  figures: {
    ratio: "time ÷ time that the token endpoint takes",
    requests: "most token requests for one retailer",
    statements: "statements for each renewal",
    heap: "highest growth of the heap during the job, in MiB",
  },
  targets: Object.values(engines)
    .flatMap(rowsOf)
    .flatMap((row) => [
      { row, figure: "requests", exactly: 1 },
      { row, figure: "heap", atMost: 20 },
    ]),
  async run({ quick, note = () => {} }) {
    const rows = {};
    for (const [engine, name] of Object.entries(engines)) {
      note(name);
      const process = await startProcess(WORKER, { execArgv: ["--expose-gc"] });
      try {
        await process.ask("fill", { engine, size: quick ? QUICK_SIZE : SIZE });
        const [eight, sixtyFour] = rowsOf(name);
        rows[eight] = await process.ask("run", { concurrency: 8, forMs: quick ? QUICK_MS : A_MINUTE_MS });
        rows[sixtyFour] = await process.ask("run", { concurrency: 64 });
      } finally {
        await process.ask("close");
      }
    }
    return rows;
  },
};
