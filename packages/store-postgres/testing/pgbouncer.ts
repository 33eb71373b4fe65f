import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { url } from "./postgres.js";

/** A PgBouncer of a test's own in front of the tests' database. */
export interface PgBouncer {
  readonly url: string;
  close(): Promise<void>;
}

/**
 * In transaction mode: each statement may reach another of its two connections to the database.
 *
 * @returns `undefined` if no `pgbouncer` is installed.
 */
export async function startPgBouncer(): Promise<PgBouncer | undefined> {
  const folder = mkdtempSync(join(tmpdir(), "retail-pos-pgbouncer-"));
  const port = await freePort();
  const file = join(folder, "pgbouncer.ini");
  writeFileSync(file, settingsFor(port));
  chmodSync(folder, 0o755); // as root it has to become somebody else
  const isRoot = process.getuid?.() === 0;
  const bouncer = spawn("pgbouncer", [...(isRoot ? ["--user", "nobody"] : []), file], { stdio: "ignore" });
  const ended = new Promise<false>((resolve) => {
    bouncer.once("error", () => resolve(false));
    bouncer.once("exit", () => resolve(false));
  });
  const close = async () => {
    bouncer.kill("SIGKILL");
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  const through = new URL(url);
  through.host = `127.0.0.1:${port}`;
  if (await Promise.race([answers(through.href), ended])) return { url: through.href, close };
  await close();
  return undefined;
}

function settingsFor(listenPort: number): string {
  const { hostname, port, username, password, pathname } = new URL(url);
  const server = { host: hostname, port: port || "5432", user: username, ...(password && { password }) };
  const target = Object.entries(server).map(([name, value]) => `${name}=${decodeURIComponent(value)}`);
  return `
[databases]
${pathname.slice(1)} = ${target.join(" ")}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${listenPort}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 2
max_client_conn = 500
`;
}

async function answers(connectionString: string): Promise<true> {
  for (;;) {
    const client = new pg.Client({ connectionString });
    try {
      await client.connect();
      await client.end();
      return true;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
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
