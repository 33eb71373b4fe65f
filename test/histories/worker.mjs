// One process of an application in a history: it asks for tokens of all retailers, over and over, until it is told to
// stop; then until each has been answered.
import { retailPos } from "@retail-pos/core";

const { ENGINE, STORE_URL, OPTIONS, RETAILERS } = process.env;

const engines = {
  async redis({ replicas }) {
    const { Redis } = await import("ioredis");
    const { redisTokens } = await import("@retail-pos/store-redis");
    const client = new Redis(STORE_URL, { maxRetriesPerRequest: 1, retryStrategy: () => 50 });
    client.on("error", () => {}); // the calls say it
    return redisTokens({ client, ...(replicas && { replicas }) });
  },
  async postgres() {
    const { default: pg } = await import("pg");
    const { postgresTokens } = await import("@retail-pos/store-postgres");
    const pool = new pg.Pool({ connectionString: STORE_URL, max: 4 });
    pool.on("error", () => {}); // the calls say it
    const { migrate, ...tokens } = postgresTokens({ pool });
    if (process.env.MIGRATES) await migrate();
    return tokens;
  },
  async sqlite() {
    const { default: Database } = await import("libsql");
    const { sqliteTokens } = await import("@retail-pos/store-sqlite");
    return sqliteTokens({ database: new Database(STORE_URL) });
  },
};

const { engine: options = {}, ...client } = JSON.parse(OPTIONS);
const tokens = await engines[ENGINE](options);
const pos = retailPos({
  clientId: "app",
  clientSecret: "app-secret",
  cacheMs: 0,
  userAgent: String(process.pid),
  ...client,
  ...tokens,
});
const retailers = RETAILERS.split(",");
let isStopping = false;

process.on("message", async ({ what, sets }) => {
  if (what === "connect") {
    for (const set of sets) await pos.connect(set);
    process.send("connected");
  } else if (what === "go") await Promise.all(retailers.map(ask));
  else if (what === "stop") isStopping = true;
});
process.send("ready");

/** Twenty times a second, until the end; then once more, until that is answered. */
async function ask(retailer) {
  while (!isStopping) {
    await pos
      .tokens(retailer)
      .token()
      .catch(() => {});
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const outcome = await lastAnswer(retailer);
  process.send({ retailer, outcome });
}

async function lastAnswer(retailer) {
  const until = Date.now() + 30_000;
  for (;;) {
    try {
      await pos.tokens(retailer).token();
      return "a token";
    } catch (error) {
      if (["not_connected", "reconnect_required"].includes(error.code) || Date.now() > until)
        return error.code;
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
