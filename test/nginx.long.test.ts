import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, type TestContext, test } from "vitest";
import { blocksOf, programIn, root } from "./support/docs/documents.js";
import { isInstalled } from "./support/installed.js";

// Two Koa processes with the stop of docs/frameworks/koa.md, behind nginx with the block of docs/operating.md. Each is
// restarted as soon as the other is ready again.

const AT_ONCE = 8;

const block = blocksOf("docs/operating.md").find(({ language }) => language === "nginx")?.text ?? "";
const program = `${programIn("docs/frameworks/koa.md", "test/nginx.long.test.ts")}
import Koa from "koa";
const app = new Koa();
app.use(async (ctx) => {
  if (ctx.path === "/ready") return void (ctx.status = isStopping() ? 503 : 200);
  await new Promise((resolve) => setTimeout(resolve, 200 * Math.random()));
  ctx.body = ctx.get("x-forwarded-proto");
});
const isStopping = stopCleanly(app.listen(process.env.PORT, "127.0.0.1"));`;

test.skipIf(!isInstalled("nginx"))(
  "two quick restarts behind nginx fail no request with the documented block, and some with nginx's defaults",
  { timeout: 120_000 },
  async ({ onTestFinished }) => {
    expect(block).toContain("max_fails=0");
    const ports = [await freePort(), await freePort()] as const;
    const processes = [await startKoa(ports[0], onTestFinished), await startKoa(ports[1], onTestFinished)];
    const documented = await startNginx(block, ports, onTestFinished);
    const byDefault = await startNginx(block.replaceAll(" max_fails=0", ""), ports, onTestFinished);

    let isOver = false;
    const visits = [documented, byDefault].map((port) =>
      Promise.all(Array.from({ length: AT_ONCE }, () => visitUntil(port, () => isOver))),
    );
    for (const at of [0, 1, 0, 1]) {
      const child = processes[at] as ChildProcess;
      child.kill("SIGTERM");
      expect(await once(child, "exit")).toEqual([0, null]);
      processes[at] = await startKoa(ports[at] as number, onTestFinished);
    }
    isOver = true;
    const [good = [], bad = []] = (await Promise.all(visits)).map((all) => all.flat());
    expect(good.length).toBeGreaterThan(100);
    expect(good.filter((answer) => answer !== "200 http")).toEqual([]);
    expect(bad.filter((answer) => answer.startsWith("502")).length).toBeGreaterThan(0);
  },
);

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

async function startKoa(port: number, onTestFinished: TestContext["onTestFinished"]): Promise<ChildProcess> {
  const env = { ...process.env, PORT: String(port) };
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program], {
    cwd: root,
    env,
    stdio: ["ignore", "inherit", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  await answering(`http://127.0.0.1:${port}/ready`);
  return child;
}

/** @returns the port on which it listens. */
async function startNginx(
  servers: string,
  [first, second]: readonly [number, number],
  onTestFinished: TestContext["onTestFinished"],
): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "retail-pos-nginx-"));
  const port = await freePort();
  const http = servers
    .replace("127.0.0.1:3001", `127.0.0.1:${first}`)
    .replace("127.0.0.1:3002", `127.0.0.1:${second}`)
    .replace("listen 80;", `listen 127.0.0.1:${port};`);
  const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  const file = join(folder, "nginx.conf");
  const main = `daemon off; pid ${folder}/pid; error_log ${folder}/error.log; events {}`;
  writeFileSync(file, `${main}\nhttp { access_log off; ${paths.join(" ")}\n${http} }\n`);
  const child = spawn("nginx", ["-e", join(folder, "error.log"), "-c", file], { stdio: "inherit" });
  onTestFinished(async () => {
    child.kill("SIGTERM");
    if (child.exitCode === null) await once(child, "exit");
    rmSync(folder, { recursive: true });
  });
  await answering(`http://127.0.0.1:${port}/ready`);
  return port;
}

const answering = (url: string) => expect.poll(async () => (await fetch(url)).status).toBe(200);

async function visitUntil(port: number, isOver: () => boolean): Promise<string[]> {
  const answers: string[] = [];
  while (!isOver()) {
    const answer = await fetch(`http://127.0.0.1:${port}/`).catch(() => undefined);
    answers.push(answer ? `${answer.status} ${(await answer.text()).split("\n")[0]}` : "no answer");
  }
  return answers;
}
