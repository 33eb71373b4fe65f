// Many processes that share one store, for five minutes: is each token renewed once, is everybody served, and what
// do they ask of the engine?
//
// Tokens live a minute, so that each retailer is renewed several times. `PROCESSES` is how many processes there are.
import { tokenSet } from "../contestants/ours.mjs";
import { tokenService } from "../lib/service.mjs";
import { engines } from "./growth/populations.mjs";
import { startProcess } from "./growth/standing-process.mjs";

const WORKER = new URL("load/worker.mjs", import.meta.url);
const PROCESSES = Number(process.env.PROCESSES ?? 50);
const QUICK_PROCESSES = 8;
const CALLERS = 20;
const RETAILERS = 1000;
const LIFETIME_MS = 60_000;
const FIVE_MINUTES_MS = 300_000;
const QUICK_MS = 45_000; // the first tokens end after 30 s
const retailers = Array.from({ length: RETAILERS }, (_, n) => `store-${n}`);
const names = { redis: "Redis", postgres: "PostgreSQL" };

export default {
  id: "load",
  title: `load: ${PROCESSES} processes of ${CALLERS} callers each, ${RETAILERS.toLocaleString("en")} retailers, five minutes`,
  floor: "one token request for each token",
  rounds: 1,
  figures: {
    requests: "most token requests for one retailer in 85 % of a token's lifetime",
    failed: "failed calls",
    expired: "calls that got an expired token, or another retailer's",
    justEnded: "of these, expired for less than 0.25 s",
    calls: "calls",
    renewals: "renewals",
    statements: "statements for each call",
    connections: "most connections to the database",
  },
  targets: Object.values(names).flatMap((name) => [
    { row: `ours, ${name}`, figure: "requests", exactly: 1 },
    { row: `ours, ${name}`, figure: "failed", exactly: 0 },
    { row: `ours, ${name}`, figure: "expired", exactly: 0 },
  ]),
  async run({ quick, note = () => {} }) {
    const rows = {};
    for (const [engine, name] of Object.entries(names)) {
      note(name);
      const size = { count: quick ? QUICK_PROCESSES : PROCESSES, forMs: quick ? QUICK_MS : FIVE_MINUTES_MS };
      rows[`ours, ${name}`] = await loaded(engine, size, note);
    }
    return rows;
  },
};

async function loaded(engine, { count, forMs }, note) {
  const service = await tokenService({ lifetimeMs: LIFETIME_MS });
  const name = `bench_load_${process.pid}`;
  const shared = await engines[engine](name);
  const processes = [];
  try {
    const before = await shared.connections();
    while (processes.length < count) processes.push(await startProcess(WORKER));
    for (const worker of processes)
      await worker.ask("open", { engine, name, address: service.address, retailers });
    await fill(service, shared.tokens.store); // now: else many end while the processes start
    await service.reset();
    const watch = watchOf(shared.connections);
    const told = await Promise.all(
      processes.map((worker) => worker.ask("call", { callers: CALLERS, forMs })),
    );
    const sum = (figure) => told.reduce((total, one) => total + one[figure], 0);
    const log = await service.log();
    for (const { why } of told) if (Object.keys(why).length > 0) note(`calls failed: ${JSON.stringify(why)}`);
    const refused = log.filter(({ status }) => status !== 200);
    if (refused.length > 0) note(`refused: ${JSON.stringify(refused.slice(0, 20))} of ${refused.length}`);
    return {
      requests: mostTogether(told.flatMap(({ begun }) => begun)),
      failed: sum("failed"),
      expired: sum("expired"),
      justEnded: sum("justEnded"),
      calls: sum("calls"),
      renewals: log.filter(({ status }) => status === 200).length,
      statements: sum("statements") / sum("calls"),
      connections: (await watch.most()) - before,
    };
  } finally {
    await Promise.allSettled(processes.map((worker) => worker.ask("close")));
    await shared.remove();
    await shared.close();
    await service.close();
  }
}

/**
 * Their ends are spread over a lifetime, as those of logins on different days are. The first come after half of one:
 * processes that have just started keep each other from the machine's cores, and that is not what is measured here.
 */
async function fill(service, store) {
  const tenths = 10;
  for (let tenth = 0; tenth < tenths; tenth += 1) {
    const some = retailers.filter((_, n) => n % tenths === tenth);
    for (const login of await service.issue(some, LIFETIME_MS / 2 + (LIFETIME_MS * tenth) / tenths))
      await store.save(tokenSet(login.retailer, login));
  }
}

/**
 * Of one retailer, the most token requests begun within the time in which a token may not be renewed: 1 is right. Not
 * when they arrived: a token's life counts from when its request was begun.
 */
function mostTogether(begun) {
  const span = LIFETIME_MS * 0.85; // an early renewal starts after nine tenths, at the earliest
  const times = new Map();
  for (const { retailer, at } of begun) times.set(retailer, [...(times.get(retailer) ?? []), at]);
  let most = 0;
  for (const own of times.values())
    for (const from of own) most = Math.max(most, own.filter((at) => at >= from && at < from + span).length);
  return most;
}

/** Looks once a second, until it is asked. */
function watchOf(count) {
  let [most, isOver] = [0, false];
  const watching = (async () => {
    while (!isOver) {
      most = Math.max(most, await count());
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
  })();
  return {
    async most() {
      isOver = true;
      await watching;
      return most;
    },
  };
}
