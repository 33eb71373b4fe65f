import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";

/** A Redis of a test's own on this machine, to be set up and broken as it likes. Nothing of it is kept. */
export interface RedisServer {
  readonly port: number;
  readonly url: string;
  /** What it keeps on disk is in here. */
  readonly folder: string;
  /** What it was started with. */
  readonly settings: Readonly<Record<string, string | number>>;
  /** A connection of the test's own. */
  readonly admin: Redis;
  close(): Promise<void>;
}

/** @returns `undefined` where no `redis-server` is installed. */
export async function startServer(
  settings: Record<string, string | number> = {},
): Promise<RedisServer | undefined> {
  const port = Number(settings["port"] ?? (await freePort()));
  const folder = mkdtempSync(join(tmpdir(), "retail-pos-redis-"));
  const server = spawn(
    "redis-server",
    Object.entries({ port, bind: "127.0.0.1", dir: folder, save: "", ...settings }).flatMap(
      ([name, value]) => [`--${name}`, String(value)],
    ),
    { stdio: "ignore" },
  );
  const admin = new Redis(port, { retryStrategy: () => 20, maxRetriesPerRequest: null });
  admin.on("error", () => {});
  const close = async () => {
    admin.disconnect();
    if (server.pid !== undefined && server.exitCode === null && server.signalCode === null) {
      server.kill("SIGKILL");
      await once(server, "exit");
    }
    rmSync(folder, { recursive: true, force: true });
  };
  if (await answers(server, admin)) {
    return { port, url: `redis://127.0.0.1:${port}`, folder, settings, admin, close };
  }
  await close();
  return undefined;
}

async function answers(server: ChildProcess, admin: Redis): Promise<boolean> {
  const isGone = new Promise<boolean>((resolve) => {
    server.once("error", () => resolve(false));
    server.once("exit", () => resolve(false));
  });
  const isThere = admin.ping().then(
    () => true,
    () => false,
  );
  return Promise.race([isThere, isGone]);
}

/** Asks until the answer will do. */
export async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await sleep(10);
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}
