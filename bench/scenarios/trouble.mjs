// What ordinary trouble costs: who of 200 stores has to log in again? Each contestant runs in four processes, and meets
// the same trouble at the same moments.
import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";
import pg from "pg";
import { cutProxy } from "../../test/support/cut-proxy.mjs";
import { contestant } from "../contestants/index.mjs";
import { tokenService } from "../lib/service.mjs";
import { crewOf } from "./trouble/crew.mjs";
import { scheduleOf } from "./trouble/schedule.mjs";

const CONTESTANTS = [
  ["ours-postgres", "ours-redis", "redis-lock"],
  ["fifteen-lines", "promise-map", "session-storage"],
  ["simple-oauth2", "google-auth-library", "openid-client"],
];
const STORES = 200;
const LIFETIME_MS = 20_000;
/** A contestant may hold back for a minute after a failure; a token's life has passed since the last one. */
const PATIENCE_MS = 45_000;
/** Of so many new refresh tokens one is lost on its way: two in a hundred. */
const LOSES_ONE_IN = 50;
const { REDIS_URL = "redis://127.0.0.1:6379", DATABASE_URL = "postgresql://root@127.0.0.1:5432/test" } =
  process.env;

export default [1, 2, 3].map((seed) => ({
  id: seed === 1 ? "survival" : `survival-${seed}`,
  title: `survival, seed ${seed}: ${STORES} stores, four processes, two minutes of trouble`,
  floor: "0 stores lost of those that can be kept",
  rounds: 1,
  figures: {
    lost: `stores that have to log in again, of ${STORES}`,
    outside: "logins again that nobody can avoid",
    reused: `stores, of ${STORES}, that a service would log out which punishes a repeated refresh token`,
    failed: "failed calls, in %",
    requests: "token requests for each new token",
    longest: "longest wait for a bearer, in seconds",
  },
  targets: ["ours, PostgreSQL", "ours, Redis"].map((row) => ({ row, figure: "lost", exactly: 0 })),
  async run({ quick, note = () => {} }) {
    const rows = {};
    for (const files of CONTESTANTS) Object.assign(rows, await survived(files, { seed, quick, note }));
    return rows;
  },
}));

/** Three contestants side by side: more would keep each other from the machine's two cores. */
async function survived(files, { seed, quick, note }) {
  const service = await tokenService({ lifetimeMs: LIFETIME_MS });
  const database = await cutProxy(DATABASE_URL, 5432);
  const redis = await cutProxy(REDIS_URL, 6379);
  const run = `bench_survival_${process.pid}`;
  const teams = [];
  try {
    note(`starts ${files.join(", ")}`);
    for (const file of files) {
      const table = `${run}_${file.replaceAll("-", "_")}`;
      const retailers = Array.from({ length: STORES }, (_, n) => `${file}-store-${n}`);
      const input = { file, table, address: service.address, databaseUrl: database.url, redisUrl: redis.url };
      const { name } = await contestant(`survival/${file}`);
      teams.push({ name, retailers, crew: await crewOf(input, retailers, seed), outside: 0 });
    }
    await Promise.all(teams.map((team) => everybodyLogsIn(team, service)));
    await service.reset();
    await service.configure({ losesOneIn: LOSES_ONE_IN });
    await Promise.all(teams.map(({ crew }) => crew.call()));
    const watch = watchOver(teams, service);
    const schedule = scheduleOf(seed).slice(0, quick ? 3 : undefined);
    await trouble(schedule, { teams, service, database, redis, note });
    await sleep(LIFETIME_MS / 2);
    await service.configure({ losesOneIn: Number.POSITIVE_INFINITY });
    await Promise.all(teams.map(({ crew }) => crew.rest()));
    await sleep(LIFETIME_MS); // every token has ended: a bearer says that the refresh token is a good one
    const log = await service.log();
    const rows = await Promise.all(teams.map(async (team) => [team.name, await figuresOf(team, log, note)]));
    await watch.end();
    return Object.fromEntries(rows);
  } finally {
    for (const { crew } of teams) crew.close();
    await Promise.all([database.close(), redis.close(), service.close()]);
    await cleared(run);
  }
}

/** Their ends are spread over a lifetime, as those of logins at different times are. */
async function everybodyLogsIn({ retailers, crew }, service) {
  const tenths = 10;
  for (let tenth = 0; tenth < tenths; tenth += 1) {
    const some = retailers.filter((_, n) => n % tenths === tenth);
    await crew.logIn(await service.issue(some, LIFETIME_MS / 2 + (LIFETIME_MS / 2) * (tenth / tenths)));
  }
}

/** Once a second: takes the counts, and logs in again whose refresh token nobody can have. */
function watchOver(teams, service) {
  let isOver = false;
  const watching = (async () => {
    while (!isOver) {
      const outside = (await service.outside()).map(({ retailer }) => retailer);
      for (const team of teams) {
        const own = outside.filter((retailer) => team.retailers.includes(retailer));
        // A database that is away takes no login; its retailer tries again.
        if (await isLoggedIn(team, service, own)) team.outside += own.length;
        team.crew.count();
      }
      await sleep(1000);
    }
  })();
  return {
    async end() {
      isOver = true;
      await watching;
    },
  };
}

async function isLoggedIn({ crew }, service, retailers) {
  if (retailers.length === 0) return false;
  const logIn = async () => crew.logIn(await service.issue(retailers));
  return logIn().then(
    () => true,
    () => false,
  );
}

async function trouble(schedule, { teams, service, database, redis, note }) {
  const begun = Date.now();
  const everywhere = (work) => Promise.all(teams.map(work));
  const kinds = {
    "rolling restart": () => everywhere(({ crew }) => crew.restart()),
    kill: (worker) =>
      everywhere(async ({ crew }) => {
        const at = Date.now();
        await service.killed(await crew.kill(worker), at);
      }),
    "slow token endpoint": () => during(10_000, { delayMs: 5000 }, { delayMs: 100 }),
    "token endpoint answers 503": () => during(10_000, { isDown: true }, { isDown: false }),
    "token endpoint answers 429": () => service.limit(10_000),
    async "database away"() {
      for (const way of [database, redis]) way.shut();
      await sleep(5000);
      for (const way of [database, redis]) way.open();
    },
    async "process asleep"(worker) {
      for (const { crew } of teams) crew.signal(worker, "SIGSTOP");
      await sleep(20_000);
      for (const { crew } of teams) crew.signal(worker, "SIGCONT");
    },
  };
  for (const { kind, pauseMs, worker } of schedule) {
    await sleep(pauseMs);
    note(`${Math.round((Date.now() - begun) / 1000)} s: ${kind}`);
    await kinds[kind](worker);
  }

  async function during(ms, settings, after) {
    await service.configure(settings);
    await sleep(ms);
    await service.configure(after);
  }
}

async function figuresOf(team, log, note) {
  const { name, crew, retailers } = team;
  const own = new Set(retailers);
  const requests = log.filter(({ retailer }) => own.has(retailer));
  const { calls, failed, longestMs, why } = crew.total();
  note(`${name}: ${calls} calls, ${requests.length} token requests; failed: ${JSON.stringify(why)}`);
  return {
    lost: (await crew.lost(PATIENCE_MS)).length,
    outside: team.outside,
    reused: new Set(requests.filter(({ isReused }) => isReused).map(({ retailer }) => retailer)).size,
    failed: (100 * failed) / calls,
    requests: requests.length / requests.filter(({ status }) => status === 200).length,
    longest: longestMs / 1000,
  };
}

async function cleared(run) {
  const pool = new pg.Pool({ connectionString: DATABASE_URL, max: 1 });
  const { rows } = await pool.query("SELECT tablename FROM pg_tables WHERE starts_with(tablename, $1)", [
    run,
  ]);
  for (const { tablename } of rows) await pool.query(`DROP TABLE "${tablename}"`);
  await pool.end();
  const client = new Redis(REDIS_URL);
  for await (const keys of client.scanStream({ match: `${run}*` }))
    if (keys.length > 0) await client.unlink(...keys);
  await client.quit();
}
