import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, statSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { packAll } from "../scripts/pack.mjs";
import { buildImage, type Image } from "./support/dockerfile.js";
import { freePort } from "./support/listen.js";
import { copyOut, linkTree } from "./support/packed/copy-out.js";
import { root } from "./support/sources.js";
import { starters } from "./support/starters.js";

// Each example works outside the repository: its folder is copied, the packages are installed from their
// tarballs by plain npm, and its own build and tests run there. One that is deployed also starts with what production
// has: no compiler, and in its image nobody's rights.

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), "retail-pos-copied-"));
const quickly = {
  npm_config_prefer_offline: "true",
  npm_config_audit: "false",
  npm_config_fund: "false",
  npm_config_omit_lockfile_registry_resolved: "false", // npm's default: `npm ci` need not look addresses up
};
const npmEnv = { ...process.env, ...quickly };
const patience = 600_000; // one that runs on Redis and PostgreSQL starts some dozens of processes
let tarballs: Map<string, string>;

beforeAll(async () => {
  chmodSync(folder, 0o755); // nobody in particular reads there later
  tarballs = await packAll(folder);
}, 60_000);
afterAll(() => rm(folder, { recursive: true, force: true }), patience);

/** What a container is given. */
const settings = {
  RETAIL_POS_AUTH_URL: "https://auth.example",
  RETAIL_POS_BASE_URL: "https://{domain_prefix}.retail.example",
  RETAIL_POS_CLIENT_ID: "ours",
  RETAIL_POS_CLIENT_SECRET: "a client secret of 32 characters",
  RETAIL_POS_REDIRECT_URI: "https://shelfview.example/auth/retail-pos/callback",
  SESSION_SECRET: "a session secret of 32 characters",
};

/** Those of `frameworks` have tests of their own. */
const examples = readdirSync(join(root, "examples")).filter((name) => name !== "frameworks");
const deployed = examples.filter((name) => existsSync(join(root, "examples", name, "Dockerfile")));

test("every starter has a Dockerfile", () => {
  expect(deployed).toEqual(expect.arrayContaining(starters.map(({ name }) => name)));
});

describe.each(examples)("%s", (name) => {
  const copy = join(folder, name);
  const npm = (...args: string[]) => run("npm", args, { cwd: copy, env: npmEnv });
  let image: Image | undefined;

  // The Dockerfile's first RUN installs all that the example's own tests need: they get the same files.
  beforeAll(async () => {
    copyOut(name, copy, tarballs);
    if (!deployed.includes(name)) return void (await npm("install", "--ignore-scripts"));
    await npm("install", "--ignore-scripts", "--package-lock-only");
    const modules = join(copy, "node_modules");
    image = await buildImage(copy, npmEnv, (stage) => {
      if (!existsSync(modules)) linkTree(join(stage, "node_modules"), modules);
    });
  }, patience);
  // At once, and not all at the end: each has some ten thousand files.
  afterAll(async () => {
    for (const each of [copy, `${copy}.stage0`, `${copy}.stage1`])
      await rm(each, { recursive: true, force: true });
  }, patience);

  test(
    "builds and passes its own tests",
    async () => {
      const { stdout } = await npm("test", "--", "--testTimeout=60000"); // other tests run beside it
      expect(stdout).toMatch(/Tests.*passed/);
    },
    patience,
  );

  if (!deployed.includes(name)) return;

  test(
    "comes out of its Dockerfile's steps, and runs as nobody",
    async () => {
      if (!image) throw new Error("The image was not built");
      expect(existsSync(join(image.folder, "node_modules/typescript"))).toBe(false);
      const { folder: cwd, env, uid, gid } = image;
      const [command, ...args] = image.command;
      expect(command).toBe("node"); // no npm in between, which passes no SIGTERM on
      const options = { cwd, ...(uid !== undefined && gid !== undefined && { uid, gid }) };
      const forgotten = started(name, "node", args, options, env);
      await expect(forgotten).rejects.toThrow("RETAIL_POS_CLIENT_ID is missing");
      const { child, port, ended } = await started(name, "node", args, options, { ...env, ...settings });
      await expectToServe(port);
      if (uid !== undefined) expect(ownerOf(child)).toBe(uid);
      const data = join(cwd, "data");
      for (const file of existsSync(data) ? readdirSync(data) : [])
        expect(statSync(join(data, file)).mode & 0o077).toBe(0);
      child.kill("SIGTERM");
      expect(await ended).toEqual([0, null]);

      // Without Docker: the same folder, by npm. A group of its own, to be ended whole: npm passes no signal on.
      const byNpm = await started(name, "npm", ["start"], { cwd, detached: true }, settings);
      await expectToServe(byNpm.port);
      process.kill(-(byNpm.child.pid as number), "SIGKILL");
    },
    patience,
  );
});

/** A program on a port of its own, with what production has in its environment and nothing of the tests'. */
async function started(
  name: string,
  command: string,
  args: readonly string[],
  options: { cwd: string; detached?: boolean; uid?: number; gid?: number },
  given: Readonly<Record<string, string>> = {},
) {
  const port = await freePort();
  const { PATH = "", HOME = "" } = process.env;
  const own = { PORT: String(port), WORKERS: "1" };
  const ofStarter = starters.find((starter) => starter.name === name)?.env;
  const env = { PATH, HOME, ...given, ...own, ...ofStarter };
  const child = spawn(command, args, { ...options, env, stdio: ["ignore", "pipe", "pipe"] });
  const ended = once(child, "exit");
  onTestFinished(() => void child.kill("SIGKILL"));
  let output = "";
  await new Promise<void>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (text) => {
        output += text;
        if (new RegExp(`(localhost:|Listening on port )${port}`).test(output)) resolve();
      });
    ended.then(() => reject(new Error(`${name} ended: ${output}`)), reject);
  });
  return { child, port, ended };
}

async function expectToServe(port: number): Promise<void> {
  for (const path of ["/health", "/ready"])
    expect((await fetch(`http://127.0.0.1:${port}${path}`)).status, path).toBe(200);
}

/** Whose process it is, as the system has it. */
function ownerOf({ pid }: ChildProcess): number {
  return Number(/^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
}
