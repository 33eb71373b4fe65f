import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, mkdtempSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { type Sandbox, startSandbox } from "@retail-pos/sandbox";
import { type Browser, chromium, type Page } from "playwright-core";
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  onTestFinished,
  test,
  vi,
} from "vitest";
import { packAll } from "../scripts/pack.mjs";
import { CHROMIUM_FLAGS, findChromium } from "./support/chromium.js";
import { freePort } from "./support/listen.js";
import { copyOut } from "./support/packed/copy-out.js";
import { nodeAt } from "./support/packed/project.js";

// examples/frameworks/react-router and workers: copied out, installed with plain npm, built and started by the programs
// that their package.json names. The one for Next.js is in next.long.test.ts.

const store = "harbour-coffee";
const patience = 300_000; // npm fetches what is missing
vi.setConfig({ testTimeout: patience, hookTimeout: patience });

const folder = mkdtempSync(join(tmpdir(), "retail-pos-frameworks-"));
let tarballs: Map<string, string>;
let person: Browser;
let page: Page;
let sandbox: Sandbox;
let port: number;

beforeAll(async () => {
  tarballs = await packAll(folder);
  person = await chromium.launch({ executablePath: findChromium() as string, args: CHROMIUM_FLAGS });
});
afterAll(async () => {
  await person?.close();
  await rm(folder, { recursive: true, force: true });
});

beforeEach(async () => {
  port = await freePort();
  sandbox = await startSandbox({ redirectUri: at("/auth/retail-pos/callback") });
  page = await person.newPage(); // with a context of its own
});
afterEach(async () => {
  await page.context().close();
  await sandbox.close();
});

describe("React Router", () => {
  const program = (name: string, ...args: string[]) =>
    started("react-router", process.execPath, [`node_modules/@react-router/${name}/bin.js`, ...args]);
  const serve = () => program("serve", "build/server/index.js");

  beforeAll(async () => {
    await install("react-router");
    await run("react-router", "npm", "run", "build"); // without a setting, as in an image
  });

  test("leads to the login, shows what the API says, sells, and goes on when the token has ended", async () => {
    await serve();
    await page.goto(at("/products"));
    await approve();
    await page.getByText("Sales: 0").waitFor();
    sandbox.expire(store);
    await page.getByRole("button", { name: "Sell House espresso, 250 g" }).click();
    await page.getByText("Sales: 1").waitFor();
    expect(tokenRequests()).toEqual(["authorization_code", "refresh_token"]);
  });

  test("leads to the login if only a login helps, from the page and from the action", async () => {
    await serve();
    await page.goto(at("/products"));
    await approve();
    await page.getByText("Sales: 0").waitFor();
    for (const again of [() => page.reload(), () => page.getByRole("button").first().click()]) {
      sandbox.refuse(store);
      sandbox.expire(store);
      await again();
      await approve();
      await page.getByText("Sales: 0").waitFor();
    }
  });

  test("passes on the API's own status, and how long to wait for a token", async () => {
    await serve();
    await page.goto(at("/auth/retail-pos"));
    await approve();
    await page.getByText("Sales: 0").waitFor();
    sandbox.fault(404, { endpoint: "api" });
    expect((await page.reload())?.status()).toBe(404);
    sandbox.limit(store, 60_000);
    sandbox.expire(store);
    const answer = await page.reload();
    expect([answer?.status(), answer?.headers()["retry-after"]]).toEqual([
      503,
      expect.stringMatching(/^\d+$/),
    ]);
  });

  test("stays logged in while react-router dev runs an edited file again", async () => {
    const output = await program("dev", "dev");
    await page.goto(at("/products"));
    await approve();
    await page.getByText("Sales: 0").waitFor();
    for (const edit of ["first edit", "second edit"]) {
      const file = join(folder, "react-router/app/retail-pos.server.ts");
      appendFileSync(file, `console.log("the ${edit} is run");\n`);
      const reload = () => page.goto(at("/products")).then(output);
      await expect.poll(reload, { timeout: 60_000 }).toContain(`the ${edit} is run`);
      await page.getByText("Sales: 0").waitFor();
    }
    expect(tokenRequests()).toEqual(["authorization_code"]);
  });
});

describe("Cloudflare Workers", () => {
  let node: string;

  beforeAll(async () => {
    await install("workers");
    await run("workers", "node_modules/.bin/tsc");
    node = await nodeAt("22"); // the oldest that wrangler starts on
  });

  test("logs in, calls, and goes on calling when the token has ended", async () => {
    writeFileSync(
      join(folder, "workers/.env"),
      Object.entries(settings())
        .map((pair) => pair.join("="))
        .join("\n"),
    );
    await started("workers", node, ["node_modules/wrangler/bin/wrangler.js", "dev", "--port", String(port)]);
    expect((await page.goto(at("/products")))?.status()).toBe(401);
    await page.goto(at("/auth/retail-pos"));
    await approve();
    await page.getByText("House espresso").waitFor();
    sandbox.expire(store);
    await page.reload();
    await page.getByText("House espresso").waitFor();
    expect(tokenRequests()).toEqual(["authorization_code", "refresh_token"]);
  });
});

async function install(name: string): Promise<void> {
  copyOut(`frameworks/${name}`, join(folder, name), tarballs);
  await run(name, "npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline");
}

function run(name: string, program: string, ...args: string[]) {
  return promisify(execFile)(program, args, { cwd: join(folder, name) });
}

/** Starts a program of an example until the test is over. Answers what it has printed so far. */
async function started(name: string, program: string, args: string[]): Promise<() => string> {
  const { PATH, HOME } = process.env;
  const env = { PATH, HOME, WRANGLER_SEND_METRICS: "false", ...settings() };
  // A group of its own, to be ended whole: wrangler works in children.
  const child = spawn(program, args, { cwd: join(folder, name), env, detached: true });
  const ended = once(child, "exit");
  onTestFinished(async () => {
    if (child.exitCode === null) process.kill(-(child.pid as number), "SIGKILL");
    await ended;
  });
  let output = "";
  await new Promise<void>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (text) => {
        output += text;
        if (output.includes(`localhost:${port}`)) resolve();
      });
    ended.then(() => reject(new Error(`${name} ended: ${output}`)), reject);
  });
  return () => output;
}

async function approve(): Promise<void> {
  await page.locator(`input[value="${store}"]`).check({ force: true });
  await page.getByRole("button", { name: "Approve" }).click();
}

function tokenRequests() {
  return sandbox.tokenRequests(store).map(({ grantType }) => grantType);
}

function settings() {
  return {
    PORT: String(port),
    RETAIL_POS_AUTH_URL: sandbox.authUrl,
    RETAIL_POS_BASE_URL: sandbox.baseUrl,
    RETAIL_POS_CLIENT_ID: sandbox.application.clientId,
    RETAIL_POS_CLIENT_SECRET: sandbox.application.clientSecret,
    RETAIL_POS_REDIRECT_URI: sandbox.application.redirectUri,
    SESSION_SECRET: "a secret of the tests, longer than 32 letters",
  };
}

function at(path: string): string {
  return `http://localhost:${port}${path}`;
}
