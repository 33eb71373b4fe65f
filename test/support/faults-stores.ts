import { rmSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import Database from "libsql";
import pg from "pg";
import { url as databaseUrl, canRun as hasPostgres } from "../../packages/store-postgres/testing/postgres.js";
import { canRun as hasRedis, url as redisUrl } from "../../packages/store-redis/testing/redis.js";

/** Where processes keep their tokens; a test can take it away from them, and give it back as it was. */
export interface BreakableStore {
  /** What a process connects to. */
  readonly url: string;
  goAway(): Promise<void>;
  comeBack(): Promise<void>;
  /** Ends everything, and removes what a namespace left. */
  end(): Promise<void>;
}

/** By engine; those that answer on this machine. */
export const stores: Readonly<Record<string, (namespace: string) => Promise<BreakableStore>>> = {
  ...(hasRedis && { redis }),
  ...(hasPostgres && { postgres }),
  sqlite,
};

async function redis(namespace: string): Promise<BreakableStore> {
  const wire = await breakableWire(redisUrl, 6379);
  return {
    ...wire,
    async end() {
      await wire.close();
      const client = new Redis(redisUrl);
      for await (const keys of client.scanStream({ match: `${namespace}:*`, count: 1000 })) {
        if (keys.length > 0) await client.unlink(...keys);
      }
      await client.quit();
    },
  };
}

async function postgres(namespace: string): Promise<BreakableStore> {
  const wire = await breakableWire(databaseUrl, 5432);
  return {
    ...wire,
    async end() {
      await wire.close();
      const client = new pg.Client({ connectionString: databaseUrl });
      await client.connect();
      await client.query(`DROP TABLE IF EXISTS ${namespace}, ${namespace}_lock`);
      await client.end();
    },
  };
}

/** A file has no wire to cut: its tables are moved away, and every statement fails at once. */
async function sqlite(namespace: string): Promise<BreakableStore> {
  const url = join(tmpdir(), `${namespace}.sqlite`);
  const move = (from: string, to: string) => {
    const database = new Database(url);
    database.exec("PRAGMA busy_timeout = 10000");
    database.exec(`ALTER TABLE ${namespace}${from} RENAME TO ${namespace}${to}`);
    database.exec(`ALTER TABLE ${namespace}_lock${from} RENAME TO ${namespace}_lock${to}`);
    database.close();
  };
  return {
    url,
    goAway: async () => move("", "_away"),
    comeBack: async () => move("_away", ""),
    async end() {
      for (const suffix of ["", "-wal", "-shm"]) rmSync(url + suffix, { force: true });
    },
  };
}

/** A wire to a server that can be cut: connections end, and new ones end at once. */
async function breakableWire(server: string, defaultPort: number) {
  const target = new URL(server);
  const [host, port] = [target.hostname, Number(target.port || defaultPort)];
  const sockets = new Set<Socket>();
  let isCut = false;
  const proxy = createServer((client) => {
    if (isCut) return void client.destroy();
    const upstream = connect(port, host);
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const here = new URL(server);
  here.hostname = "127.0.0.1";
  here.port = String((proxy.address() as AddressInfo).port);
  const cut = () => {
    isCut = true;
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: here.href,
    goAway: async () => cut(),
    comeBack: async () => {
      isCut = false;
    },
    async close() {
      cut();
      await new Promise((resolve) => proxy.close(resolve));
    },
  };
}
