// Database servers of a history's own, on ports of their own, in folders that go with them.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

export function folder() {
  const path = mkdtempSync(join(tmpdir(), "history-"));
  chmodSync(path, 0o777); // PostgreSQL runs as another user
  return path;
}

export async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

/** A Redis. `file`: every write is on disk before it is answered; else nothing ever is. */
export async function redisServer({ file = false, replicaOf } = {}) {
  const [port, dir] = [await freePort(), folder()];
  let child = await start();
  return {
    port,
    get pid() {
      return child.pid;
    },
    async kill() {
      child.kill("SIGKILL");
      await once(child, "exit");
    },
    async restart() {
      child = await start();
    },
    async end() {
      if (child.exitCode === null && child.signalCode === null) await this.kill();
      rmSync(dir, { recursive: true, force: true });
    },
  };

  async function start() {
    const kept = file ? ["--appendonly", "yes", "--appendfsync", "always"] : ["--appendonly", "no"];
    const follows = replicaOf
      ? ["--replicaof", `127.0.0.1 ${replicaOf}`, "--repl-diskless-sync-delay", "0"]
      : [];
    const args = [
      "--bind",
      "127.0.0.1",
      "--port",
      String(port),
      "--dir",
      dir,
      "--save",
      "",
      ...kept,
      ...follows,
    ];
    const started = spawn("redis-server", args, { stdio: "ignore" });
    await listens(port);
    return started;
  }
}

/** A PostgreSQL cluster, or one that `follows` another: copied from it, then told through a proxy what happens. */
export async function postgresServer({ follows, through } = {}) {
  const [port, dir] = [await freePort(), folder()];
  const data = join(dir, "data");
  if (follows) {
    const from = ["-h", "127.0.0.1", "-p", String(follows.port), "-U", "postgres"];
    asPostgres("pg_basebackup", [...from, "-D", data, "-R", "-X", "stream", "-c", "fast"]);
  } else asPostgres("initdb", ["-D", data, "-U", "postgres", "-A", "trust", "--no-sync"]);
  const start = () => {
    const from = `primary_conninfo=host=127.0.0.1 port=${through?.port} user=postgres`;
    const options = `-p ${port} -h 127.0.0.1 -k '' -c max_connections=50 ${through ? `-c "${from}"` : ""}`;
    asPostgres("pg_ctl", ["start", "-w", "-s", "-D", data, "-l", join(dir, "log"), "-o", options]);
  };
  start();
  return {
    port,
    url: `postgresql://postgres@127.0.0.1:${port}/postgres`,
    kill: () => asPostgres("pg_ctl", ["stop", "-s", "-m", "immediate", "-D", data]),
    restart: start,
    promote: () => asPostgres("pg_ctl", ["promote", "-w", "-s", "-D", data]),
    end() {
      try {
        this.kill();
      } catch {
        // it has been killed
      }
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

function postgresPrograms() {
  const root = "/usr/lib/postgresql";
  const newest =
    existsSync(root) &&
    readdirSync(root)
      .sort((one, other) => Number(one) - Number(other))
      .at(-1);
  return newest ? join(root, newest, "bin") : undefined;
}

/** Whether this machine has the programs. */
export const has = {
  redis: () => isOnPath("redis-server"),
  postgres: () => postgresPrograms() !== undefined,
  sqlite: () => true,
};

function isOnPath(program) {
  return (process.env.PATH ?? "").split(":").some((path) => existsSync(join(path, program)));
}

/** PostgreSQL refuses to run as root. */
function asPostgres(program, args) {
  const path = join(postgresPrograms(), program);
  const isRoot = process.getuid?.() === 0;
  const [command, all] = isRoot ? ["runuser", ["-u", "postgres", "--", path, ...args]] : [path, args];
  execFileSync(command, all, { stdio: ["ignore", "ignore", "inherit"], cwd: tmpdir() });
}

async function listens(port) {
  for (let tries = 0; tries < 300; tries += 1) {
    const socket = connect(port, "127.0.0.1");
    const isOpen = await new Promise((resolve) => {
      socket.once("connect", () => resolve(true));
      socket.once("error", () => resolve(false));
    });
    socket.destroy();
    if (isOpen) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`Nothing listens on port ${port}`);
}
