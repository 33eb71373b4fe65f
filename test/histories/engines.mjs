// The histories: what happens to which engine, and whether a refresh token may be lost by it.
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { history, sleep } from "./history.mjs";
import { startProxy } from "./proxy.mjs";
import { folder, has, postgresServer, redisServer } from "./servers.mjs";

/**
 * Each is `{ name, engine, fault, run }`; `window` says how tokens can be lost, if they can, and `isInWindow` whether
 * one of the lost was lost in that way, if that can be seen.
 */
export const HISTORIES = [
  {
    name: "redis-proxy",
    engine: "redis",
    fault: "connections are delayed, paused and cut",
    run: () => onRedis({}, async ({ proxy }) => disturb(proxy)),
  },
  {
    name: "redis-restart-file",
    engine: "redis",
    fault: "killed and restarted, `appendfsync always`",
    run: () => onRedis({ file: true }, async ({ primary }) => restarted(primary)),
  },
  {
    name: "redis-restart-nothing",
    engine: "redis",
    fault: "killed and restarted, without a file",
    window: "all: nothing was ever on a disk",
    run: () => onRedis({}, async ({ primary }) => restarted(primary)),
  },
  {
    name: "redis-failover",
    engine: "redis",
    fault: "a replica that lags is promoted",
    window: "what the primary took and the replica had not heard of",
    run: () => onRedis({ hasReplica: true }, failedOver),
  },
  {
    name: "redis-failover-wait",
    engine: "redis",
    fault: "the same, with `replicas: 1`",
    run: () => onRedis({ hasReplica: true, options: { replicas: 1 } }, failedOver),
  },
  {
    name: "postgres-proxy",
    engine: "postgres",
    fault: "connections are delayed, paused and cut",
    run: () => onPostgres({}, async ({ proxy }) => disturb(proxy)),
  },
  {
    name: "postgres-restart",
    engine: "postgres",
    fault: "stopped hard and restarted",
    run: () => onPostgres({}, async ({ primary }) => restarted(primary)),
  },
  {
    name: "postgres-failover",
    engine: "postgres",
    fault: "a streaming replica that lags is promoted",
    window: "what the primary took and the replica had not heard of",
    run: () => onPostgres({ hasReplica: true }, failedOver),
  },
  {
    name: "postgres-failover-sync",
    engine: "postgres",
    fault: "the same, with `synchronous_standby_names`",
    run: () => onPostgres({ hasReplica: true, isSynchronous: true }, failedOver),
  },
  {
    name: "sqlite-kill",
    engine: "sqlite",
    fault: "a process is killed while it writes, five times",
    window: "only the killed process had them",
    isInWindow: ({ wasKilled }) => wasKilled,
    run: () => onSqlite(folder(), killedOften),
  },
  {
    name: "sqlite-full",
    engine: "sqlite",
    fault: "the disk is full for three seconds",
    run: onFullDisk,
    needs: canMount,
  },
];

/** Those of the lost whose loss nothing explains. */
export function unexplained({ window, isInWindow = () => true }, lost) {
  return lost.filter((one) => window === undefined || !isInWindow(one));
}

/** Whether this machine has what a history needs. */
export const isPossible = ({ engine, needs = () => true }) => has[engine]() && needs();

async function onRedis({ file, hasReplica, options }, happens) {
  const primary = await redisServer({ file });
  const link = hasReplica && (await startProxy(primary.port));
  const replica = hasReplica && (await redisServer({ replicaOf: link.port }));
  const proxy = await startProxy(primary.port);
  const parts = { primary, replica, link, proxy };
  const { Redis } = await import("ioredis");
  const { redisTokens } = await import("@retail-pos/store-redis");
  const promote = async () => {
    const admin = new Redis(replica.port);
    await admin.replicaof("NO", "ONE");
    admin.disconnect();
    successor = await redisServer({ replicaOf: replica.port }); // or no save would have its replica
  };
  let reader;
  let successor;
  try {
    if (hasReplica) await sleep(2_000); // the first copy
    return await history({
      engine: "redis",
      url: `redis://127.0.0.1:${proxy.port}`,
      options,
      happens: (more) => happens({ ...parts, promote, ...more }),
      async stored(retailer) {
        reader ??= new Redis(proxy.port);
        return (await redisTokens({ client: reader }).store.load(retailer))?.refreshToken;
      },
    });
  } finally {
    reader?.disconnect();
    for (const one of [proxy, link]) if (one) one.close();
    for (const one of [successor, replica, primary]) if (one) await one.end();
  }
}

async function onPostgres({ hasReplica, isSynchronous }, happens) {
  const primary = await postgresServer();
  const link = hasReplica && (await startProxy(primary.port));
  const replica = hasReplica && (await postgresServer({ follows: primary, through: link }));
  const proxy = await startProxy(primary.port);
  const { default: pg } = await import("pg");
  const { postgresTokens } = await import("@retail-pos/store-postgres");
  const promote = async () => replica.promote();
  let pool;
  try {
    if (isSynchronous) await synchronous(pg, primary);
    return await history({
      engine: "postgres",
      url: `postgresql://postgres@127.0.0.1:${proxy.port}/postgres`,
      happens: (more) => happens({ primary, replica, link, proxy, promote, ...more }),
      async stored(retailer) {
        pool ??= new pg.Pool({ host: "127.0.0.1", port: proxy.port, user: "postgres", database: "postgres" });
        return (await postgresTokens({ pool }).store.load(retailer))?.refreshToken;
      },
    });
  } finally {
    await pool?.end();
    for (const one of [proxy, link]) if (one) one.close();
    for (const one of [replica, primary]) if (one) one.end();
  }
}

/** From now on a commit counts when the replica has it. */
async function synchronous(pg, { url }) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query("ALTER SYSTEM SET synchronous_standby_names = '*'");
  await client.query("SELECT pg_reload_conf()");
  await client.end();
  await sleep(1_000);
}

async function onSqlite(dir, happens) {
  mkdirSync(dir, { recursive: true });
  const file = join(dir, "tokens.sqlite");
  try {
    return await history({
      engine: "sqlite",
      url: file,
      happens: (more) => happens({ dir, ...more }),
      async stored(retailer) {
        const { default: Database } = await import("libsql");
        const { sqliteTokens } = await import("@retail-pos/store-sqlite");
        const database = new Database(file);
        const set = await sqliteTokens({ database }).store.load(retailer);
        database.close();
        return set?.refreshToken;
      },
    });
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

async function onFullDisk() {
  const dir = folder();
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=2m", "tmpfs", dir]);
  try {
    return await onSqlite(join(dir, "tokens"), full);
  } finally {
    execFileSync("umount", ["--lazy", dir]); // somebody may still have the file open
    rmSync(dir, { recursive: true, force: true });
  }
}

async function disturb(proxy) {
  proxy.delay(80);
  await sleep(1_500);
  proxy.cut();
  proxy.delay(0);
  proxy.pause();
  await sleep(1_500);
  proxy.cut();
  proxy.goOn();
}

async function restarted(server) {
  await server.kill();
  await sleep(1_500);
  await server.restart();
}

/** The replica hears nothing for three seconds; then the primary dies, and the replica takes its place. */
async function failedOver({ primary, link, replica, proxy, promote }) {
  link.pause();
  await sleep(3_000);
  await primary.kill();
  await promote();
  proxy.leadTo(replica.port);
}

async function killedOften({ workers, start }) {
  for (let times = 0; times < 5; times += 1) {
    await sleep(700 + 100 * times);
    await workers.at(-1).kill();
    (await start()).go();
  }
}

async function full({ dir }) {
  try {
    const { bavail, bsize } = statfsSync(dir);
    writeFileSync(join(dir, "filler"), Buffer.alloc((bavail + 1) * bsize));
  } catch (error) {
    if (error.code !== "ENOSPC") throw error; // that is what it is for
  }
  await sleep(3_000);
  rmSync(join(dir, "filler"));
}

function canMount() {
  if (process.getuid?.() !== 0) return false;
  const dir = folder();
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", dir], { stdio: "ignore" });
    execFileSync("umount", [dir]);
    return readdirSync(dir).length === 0;
  } catch {
    return false;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
