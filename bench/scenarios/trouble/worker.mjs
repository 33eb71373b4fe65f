// One of the four processes of a contestant: it asks for the bearer of one store after the other, 40 times a second.
import { Redis } from "ioredis";
import pg from "pg";
import { commanded } from "../../lib/process.mjs";
import { APPLICATION, tokenServiceAt } from "../../lib/service.mjs";
import { randomOf } from "./random.mjs";

const PAUSE_MS = 25;
/** If a timer is so late, the process was asleep, and how long its callers waited does not count. */
const ASLEEP_MS = 2000;
/** Who waits longer has given up, as browsers and people do: the call has failed. */
const PATIENCE_MS = 10_000;
/** How long before a token's end the other contestants renew it; ours has a margin of its own. */
const MARGIN_MS = 2000;

let [service, contestant, timer] = [];
let counts = noCounts();
let lastTick = Date.now();
let asleepAt = 0;
const underWay = new Set();

commanded({
  async start({ file, name, table, address, databaseUrl, redisUrl }) {
    service = tokenServiceAt(address);
    const { baseUrl, tokenUrl } = service.as(name);
    const module = await import(`../../contestants/survival/${file}.mjs`);
    contestant = module.default.create({
      ...APPLICATION,
      baseUrl,
      tokenUrl,
      table,
      pool: poolOf(databaseUrl),
      redis: /redis/.test(file) ? redisOf(redisUrl) : undefined,
      marginMs: MARGIN_MS,
    });
    process.once("SIGTERM", stop);
  },
  async migrate() {
    await contestant.migrate();
  },
  async logIn(logins) {
    for (const { retailer, ...tokens } of logins) await contestant.logIn(retailer, tokens);
  },
  callOften({ retailers, seed }) {
    const random = randomOf(seed);
    timer = setInterval(() => call(retailers[Math.floor(random() * retailers.length)]), PAUSE_MS);
  },
  rest() {
    clearInterval(timer);
  },
  counts: takeCounts,
  /** For which retailers there is a good bearer now. */
  async served(retailers) {
    const asked = retailers.map((retailer) => contestant.bearer(retailer).catch(() => undefined));
    const values = await Promise.all(asked);
    const known = await service.issued(values.map((value) => value ?? ""));
    return retailers.filter((retailer, n) => isGood(known[n], retailer, Date.now()));
  },
});

// As core's documents have them. A pool without a listener would end the process when the database goes away.
function poolOf(connectionString) {
  const pool = new pg.Pool({
    connectionString,
    max: 5,
    connectionTimeoutMillis: 5000,
    query_timeout: 5000,
    allowExitOnIdle: true,
  });
  return pool.on("error", () => {});
}

function redisOf(url) {
  const client = new Redis(url, { commandTimeout: 5000 });
  client.on("error", () => {});
  return client.on("connect", () => client.stream.unref());
}

function tick() {
  const now = Date.now();
  if (now - lastTick > ASLEEP_MS) asleepAt = now;
  lastTick = now;
}

function call(retailer) {
  tick();
  counts.calls += 1;
  const done = answered(retailer, Date.now()).finally(() => underWay.delete(done));
  underWay.add(done);
}

async function answered(retailer, begun) {
  const [value, error] = await contestant.bearer(retailer).then(
    (value) => [value],
    (error) => [undefined, error],
  );
  tick();
  const at = Date.now();
  const tookMs = asleepAt < begun ? at - begun : 0;
  counts.longestMs = Math.max(counts.longestMs, tookMs);
  if (error) fail(error.code ?? error.message);
  else if (tookMs > PATIENCE_MS) fail("too late");
  else counts.handedOut.push({ retailer, value, at });
}

function fail(why) {
  counts.failed += 1;
  counts.why[why] = (counts.why[why] ?? 0) + 1;
}

/** Since this was asked last. */
async function takeCounts() {
  const { handedOut, ...told } = counts;
  counts = noCounts();
  const known = await service.issued(handedOut.map(({ value }) => value));
  told.failed += handedOut.filter(({ retailer, at }, n) => !isGood(known[n], retailer, at)).length;
  return told;
}

function noCounts() {
  return { calls: 0, failed: 0, longestMs: 0, why: {}, handedOut: [] };
}

const isGood = (known, retailer, at) => known?.retailer === retailer && at <= known.expiresAt;

/** Calls under way may finish, as open requests may. */
async function stop() {
  clearInterval(timer);
  await Promise.all(underWay);
  const left = await takeCounts();
  process.send({ left }, () => (contestant.endsByItself ? process.channel?.unref() : process.exit()));
}
