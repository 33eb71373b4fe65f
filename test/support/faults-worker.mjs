// One process of an application under load, for the test of faults: it is told what time it is and when to call,
// and answers what came of each call.
import { isRetailPosError, retailPos } from "@retail-pos/core";

const { ENGINE, NAMESPACE, STORE_URL, OPTIONS } = process.env;

/** As an application connects that does not want to queue for long while its database is away. */
const engines = {
  async redis() {
    const { Redis } = await import("ioredis");
    const { redisTokens } = await import("@retail-pos/store-redis");
    const client = new Redis(STORE_URL, { maxRetriesPerRequest: 1, retryStrategy: () => 50 });
    client.on("error", () => {}); // the calls say it
    return { ...redisTokens({ client, prefix: `${NAMESPACE}:` }), close: () => client.disconnect() };
  },
  async postgres() {
    const { default: pg } = await import("pg");
    const { postgresTokens } = await import("@retail-pos/store-postgres");
    const pool = new pg.Pool({ connectionString: STORE_URL, max: 4 });
    pool.on("error", () => {}); // the calls say it
    const { migrate, ...tokens } = postgresTokens({ pool, table: NAMESPACE });
    await migrate();
    return { ...tokens, close: () => pool.end() };
  },
  async sqlite() {
    const { default: Database } = await import("libsql");
    const { sqliteTokens } = await import("@retail-pos/store-sqlite");
    const database = new Database(STORE_URL);
    return { ...sqliteTokens({ database, table: NAMESPACE }), close: () => database.close() };
  },
};

const { close, store, lock } = await engines[ENGINE]();
let now = 0;
const renewals = new Set();
const pos = retailPos({
  ...JSON.parse(OPTIONS),
  store,
  // Every renewal goes through the lock: those that nobody waits for can be waited for here.
  lock(key, work) {
    const renewal = lock(key, work);
    renewals.add(renewal);
    renewal.catch(() => {}).finally(() => renewals.delete(renewal));
    return renewal;
  },
  clock: () => now,
  // A kept connection that the service closes in the same moment would be a fault that nobody asked for.
  fetch: (input, init) =>
    fetch(
      input,
      init?.method === "POST" ? { ...init, headers: { ...init.headers, connection: "close" } } : init,
    ),
  observe({ type, domainPrefix }) {
    if (type === "unsaved") process.send({ event: type, retailer: domainPrefix });
  },
});

const commands = {
  setTime(at) {
    now = at;
  },
  async logIn([domainPrefix, code]) {
    await pos.connect(await pos.exchange(domainPrefix, code));
  },
  /**
   * Two callers of every retailer at once: one uses the API, one wants a token only. Answers, when no renewal is
   * under way any more, how many were served, and each failure.
   */
  async load(retailers) {
    const report = { served: 0, failures: [] };
    const calls = retailers.flatMap((retailer) => {
      const client = pos.retailer(retailer);
      return [note(client.token(), client, report), note(useApi(client), client, report)];
    });
    await Promise.all(calls);
    while (renewals.size > 0) await Promise.allSettled(renewals);
    return report;
  },
  async tokens(retailers) {
    const asked = retailers.map((retailer) =>
      pos
        .tokens(retailer)
        .token()
        .then(
          ({ value }) => value,
          () => "",
        ),
    );
    return Promise.all(asked);
  },
  close,
};

async function useApi(client) {
  const get = () => client.fetch("api/retailer");
  // the same
  const response = await get().catch((error) => (error instanceof TypeError ? get() : Promise.reject(error)));
  await response.arrayBuffer();
  if (!response.ok) throw Object.assign(new Error("of the API"), { reason: `api ${response.status}` });
}

async function note(call, client, report) {
  try {
    await call;
    report.served += 1;
  } catch (error) {
    const wasNeedless = isRetailPosError(error) && (await hasTokenAtHand(client));
    report.failures.push({ reason: reasonOf(error), message: String(error), wasNeedless });
  }
}

/** Whether this process has a valid token in its cache: then nothing has to be waited for. */
function hasTokenAtHand(client) {
  const token = client.token().then(
    () => true,
    () => false,
  );
  // A cached token is there at once; what has to ask the store takes more turns than these.
  const soon = Promise.resolve()
    .then(() => {})
    .then(() => {})
    .then(() => false);
  return Promise.race([token, soon]);
}

function reasonOf(error) {
  if (isRetailPosError(error)) return error.code;
  return error.reason ?? "untyped";
}

process.on("message", async ({ id, command, argument }) => {
  try {
    process.send({ id, result: await commands[command](argument) });
  } catch (error) {
    process.send({ id, error: String(error) });
  }
  if (command === "close") process.disconnect();
});
process.once("disconnect", () => process.exit()); // also where the test was killed
process.send({ ready: true });
