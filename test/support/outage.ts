import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import Database from "libsql";
import { url as databaseUrl } from "../../packages/store-postgres/testing/postgres.js";
import { url as redisUrl } from "../../packages/store-redis/testing/redis.js";
import { sqliteFile } from "./engines.mjs";

/** The way that processes have to their engine; the engine itself stays up. */
export interface Way {
  /** Tells a process to take it. */
  readonly env: Record<string, string>;
  /** From now on no process can use the engine. */
  shut(): void;
  open(): void;
  close(): Promise<void>;
}

/** @param namespace names the file of SQLite. */
export async function wayTo(engine: string, namespace: string): Promise<Way> {
  if (engine === "redis") return throughProxy("REDIS_URL", redisUrl, 6379);
  if (engine === "postgres") return throughProxy("DATABASE_URL", databaseUrl, 5432);
  return lockableFile(sqliteFile(namespace));
}

/** Shut, it cuts every connection and refuses new ones. */
async function throughProxy(variable: string, address: string, defaultPort: number): Promise<Way> {
  const url = new URL(address);
  const target = { host: url.hostname.replace(/[[\]]/g, ""), port: Number(url.port || defaultPort) };
  const sockets = new Set<Socket>();
  let isOpen = true;

  // Refused by hand: a port that nobody listens on could be given to somebody else.
  const proxy = createServer((client) => {
    if (!isOpen) return void client.resetAndDestroy();
    const server = connect(target);
    join(client, server);
    join(server, client);
  }).listen(0, "127.0.0.1");
  await once(proxy, "listening");

  function join(from: Socket, to: Socket): void {
    sockets.add(from);
    from.on("error", () => {}); // "close" follows
    from.on("close", () => {
      sockets.delete(from);
      to.destroy();
    });
    from.pipe(to);
  }

  function cut(): void {
    for (const socket of sockets) socket.destroy();
  }

  url.hostname = "127.0.0.1";
  url.port = String((proxy.address() as AddressInfo).port);
  return {
    env: { [variable]: url.href },
    shut() {
      isOpen = false;
      cut();
    },
    open() {
      isOpen = true;
    },
    async close() {
      proxy.close();
      cut();
      await once(proxy, "close");
    },
  };
}

/** Shut, a transaction of this process keeps all others from writing; in WAL mode they can still read. */
function lockableFile(path: string): Way {
  let ours: Database.Database | undefined;
  return {
    // A second, five times for each try, is long; this is enough for a few processes.
    env: { BUSY_TIMEOUT_MS: "400" },
    shut() {
      ours = new Database(path);
      ours.exec("PRAGMA busy_timeout = 5000");
      ours.exec("BEGIN EXCLUSIVE");
    },
    open() {
      ours?.exec("ROLLBACK");
    },
    async close() {
      ours?.close();
    },
  };
}
