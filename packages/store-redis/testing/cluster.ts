import { freePort, type RedisServer, startServer, until } from "./server.js";

/** A Redis Cluster of one server on this machine; `undefined` where no `redis-server` is installed. */
export async function startCluster(): Promise<RedisServer | undefined> {
  const server = await startServer({
    "cluster-enabled": "yes",
    "cluster-port": await freePort(),
    "cluster-announce-ip": "127.0.0.1",
  });
  if (!server) return undefined;
  await server.admin.cluster("ADDSLOTSRANGE", 0, 16_383);
  await until(async () => (await server.admin.cluster("INFO")).includes("cluster_state:ok"));
  return server;
}
