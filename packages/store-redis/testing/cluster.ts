import type { Redis } from "ioredis";
import { freePort, type RedisServer, startServer, until } from "./server.js";

/** One range of slots after the other, each for the next server, and round again. */
const RANGES = [
  [0, 4000],
  [4001, 9000],
  [9001, 12_000],
  [12_001, 16_383],
] as const;

/** A Redis Cluster of servers on this machine. */
export interface RedisCluster {
  /** Of the first server. */
  readonly port: number;
  readonly servers: readonly RedisServer[];
  close(): Promise<void>;
}

/** @returns `undefined` where no `redis-server` is installed. */
export async function startCluster(size = 1): Promise<RedisCluster | undefined> {
  const servers: RedisServer[] = [];
  for (let count = 0; count < size; count += 1) {
    const server = await startServer({
      "cluster-enabled": "yes",
      "cluster-port": await freePort(),
      "cluster-announce-ip": "127.0.0.1",
    });
    if (!server) return undefined;
    servers.push(server);
  }
  const [first, ...others] = servers as [RedisServer, ...RedisServer[]];
  for (const [index, range] of RANGES.entries())
    await (servers[index % size] as RedisServer).admin.cluster("ADDSLOTSRANGE", ...range);
  for (const other of others)
    await first.admin.call("CLUSTER", "MEET", "127.0.0.1", other.port, busOf(other));
  for (const { admin } of servers) await until(async () => (await knows(admin)) === size);
  return {
    port: first.port,
    servers,
    close: async () => void (await Promise.all(servers.map((server) => server.close()))),
  };
}

const busOf = ({ settings }: RedisServer) => Number(settings["cluster-port"]);

/** How many servers it knows, once all slots have one. */
async function knows(admin: Redis): Promise<number> {
  const info = await admin.cluster("INFO");
  return info.includes("cluster_state:ok") ? Number(/cluster_size:(\d+)/.exec(info)?.[1]) : 0;
}
