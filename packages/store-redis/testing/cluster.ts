import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";

export interface RedisCluster {
  port: number;
  close: () => Promise<void>;
}

/** A Redis Cluster of one server on this machine, nothing of it kept; `undefined` where no `redis-server` is installed. */
export async function startCluster(): Promise<RedisCluster | undefined> {
  const [port, busPort] = [await freePort(), await freePort()];
  const folder = mkdtempSync(join(tmpdir(), "retail-pos-cluster-"));
  const server = spawn(
    "redis-server",
    Object.entries({
      port,
      bind: "127.0.0.1",
      dir: folder,
      save: "",
      "cluster-enabled": "yes",
      "cluster-port": busPort,
      "cluster-announce-ip": "127.0.0.1",
    }).flatMap(([name, value]) => [`--${name}`, String(value)]),
    { stdio: "ignore" },
  );
  const close = async () => {
    if (server.pid !== undefined && server.exitCode === null) {
      server.kill("SIGKILL");
      await once(server, "exit");
    }
    rmSync(folder, { recursive: true });
  };
  if (await isReady(server, port)) return { port, close };
  await close();
  return undefined;
}

async function isReady(server: ChildProcess, port: number): Promise<boolean> {
  let isGone = false;
  server.once("error", () => {
    isGone = true;
  });
  server.once("exit", () => {
    isGone = true;
  });
  const client = new Redis(port, { retryStrategy: () => 20, maxRetriesPerRequest: null });
  client.on("error", () => {});
  try {
    const assigned = client.cluster("ADDSLOTSRANGE", 0, 16_383);
    assigned.catch(() => {});
    while (!isGone) {
      const info = await Promise.race([assigned.then(() => client.cluster("INFO")), sleep(100, "")]);
      if (info.includes("cluster_state:ok")) return true;
    }
    return false;
  } catch {
    return false;
  } finally {
    client.disconnect();
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}
