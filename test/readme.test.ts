import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Sandbox, startSandbox } from "@retail-pos/sandbox";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  connect,
  url as databaseUrl,
  canRun as hasPostgres,
  schema,
  setUp,
  tearDown,
} from "../packages/store-postgres/testing/postgres.js";
import {
  connectIoRedis,
  canRun as hasRedis,
  url as redisUrl,
} from "../packages/store-redis/testing/redis.js";
import { browser } from "./support/browser.js";
import { programIn as programOf, root } from "./support/docs/documents.js";
import { freePort } from "./support/listen.js";

// Every program a README shows is run as it stands there, on the built packages, beside a sandbox.

const store = "harbour-coffee";
const databaseFile = join(tmpdir(), `retail-pos-readme-${process.pid}.db`);
let sandbox: Sandbox;
let port: number;
let program: ChildProcess | undefined;

// The programs of the documents use default names, and some remove what they find: they get a schema and a Redis
// database of their own.
const ownRedis = new URL("/15", redisUrl).href;
const atRedis = async (command: "dbsize" | "flushdb") => {
  const { client, close } = await connectIoRedis(ownRedis);
  const answer = await client.call(command);
  close();
  return answer;
};
beforeAll(async () => {
  if (hasPostgres) await setUp();
  if (hasRedis && (await atRedis("dbsize")) !== 0)
    throw new Error(
      `${ownRedis} is not empty, and this test would remove what is there: redis-cli -n 15 flushdb`,
    );
});
afterAll(async () => {
  if (hasPostgres) await tearDown();
  if (hasRedis) await atRedis("flushdb");
});

beforeEach(async () => {
  port = await freePort();
  sandbox = await startSandbox({ redirectUri: `http://localhost:${port}/auth/retail-pos/callback` });
});
afterEach(async () => {
  program?.kill("SIGKILL");
  program = undefined;
  await sandbox.close();
  for (const suffix of ["", "-wal", "-shm"]) rmSync(databaseFile + suffix, { force: true });
});

const express = `
    import express from "express";
    import session from "express-session";
    import passport from "passport";
    passport.serializeUser((user, done) => done(null, user));
    passport.deserializeUser((user, done) => done(null, user));
    const app = express();
    app.use(session({ secret: "for the test", resave: false, saveUninitialized: false }));
    app.use(passport.session());`;

describe("the root README's program", () => {
  const program = programIn("README.md");

  test("logs in and shows products", async () => {
    await start(`${express}${program}\napp.listen(process.env.PORT);`);
    await expectProductsAfterLogin();
  });
});

describe("a callback of docs/troubleshooting.md says why a login failed, and still logs in:", () => {
  const onExpress = `${express}${programIn("README.md")}\napp.listen(process.env.PORT);`;
  const onKoa = programOf("docs/frameworks/koa.md", "test/frameworks.test.ts", "Koa");
  const onFastify = programOf("docs/frameworks/fastify.md", "test/frameworks.test.ts", "With Passport");

  test.each([
    ["Express", onExpress],
    ["Koa", onKoa],
    ["Fastify", onFastify],
  ])("on %s", async (framework, program) => {
    const route = /^(?:const finish = .*\n)?\w+\.get\(\s*"\/auth\/retail-pos\/callback",[^;]*\);$/m;
    expect(program).toMatch(route);
    const callback = programIn("docs/troubleshooting.md", `Seeing it on ${framework}`);
    await start(program.replace(route, () => callback));
    const declined = await browser().open(sandbox.decline().href);
    expect(declined.status).toBe(403);
    expect(declined.body).toMatch(/^access_denied: \S/);
    await expectProductsAfterLogin();
  });
});

test("the program of passport-retail-pos logs in and shows products", async () => {
  await start(programIn("packages/passport-retail-pos/README.md"));
  await expectProductsAfterLogin();
});

test("the protocol alone finishes two tabs, each once", async () => {
  const flow = programIn("packages/login/README.md", "The protocol alone");
  await start(`${express}
    import { retailPos, settingsFromEnv } from "@retail-pos/core";
    import { failureWords, loginFlow } from "@retail-pos/login";
    const client = retailPos(settingsFromEnv());
    ${flow}
    app.listen(process.env.PORT);`);
  const person = browser();
  const begin = async () => (await person.open(`http://localhost:${port}/auth/retail-pos`)).location;
  const callbacks = [await begin(), await begin()].map((tab) => sandbox.consent(tab, store));
  for (const callback of callbacks) {
    expect((await person.open(callback, { headers: { "sec-purpose": "prefetch" } })).status).toBe(503);
    const finished = await person.open(callback);
    expect(finished.location).toBe("/products");
    expect(finished.headers.getSetCookie()).toEqual([expect.stringMatching(/^connect\.sid=/)]); // a new session
    expect((await person.open(callback)).status).toBe(403);
  }
  expect(sandbox.tokenRequests(store)).toHaveLength(2);
});

test("the program of login logs in and shows products", async () => {
  await start(programIn("packages/login/README.md", "@retail-pos/login"));
  await expectProductsAfterLogin();
});

test.each([
  ["packages/express-bearer/README.md", "@retail-pos/express-bearer"],
  ["packages/koa-bearer/README.md", "@retail-pos/koa-bearer"],
  ["packages/fastify-bearer/README.md", "@retail-pos/fastify-bearer"],
  ["packages/hono-bearer/README.md", "@retail-pos/hono-bearer"],
])("the program of %s shows products with a personal token", async (readme, heading) => {
  await start(programIn(readme, heading));
  const { body } = await answerOf("/products");
  expect(body).toContain("House espresso");
});

describe("a request that names a store:", () => {
  const records = `
    import { retailPos, settingsFromEnv } from "@retail-pos/core";
    const pos = retailPos(settingsFromEnv());
    await pos.connect(await pos.exchange(process.env.DOMAIN_PREFIX, process.env.CODE));
    const storesOfName = new Map([["owner", [process.env.DOMAIN_PREFIX]], ["stranger", ["rosas-bikes"]]]);
    const users = { storesOf: async (user) => storesOfName.get(user?.name) ?? [] };`;
  const express = `${records}
    import { bearer } from "@retail-pos/express-bearer";
    import express from "express";
    const app = express();
    app.use((req, res, next) => {
      if (req.get("x-user")) req.user = { name: req.get("x-user") };
      next();
    });`;
  const koa = `${records}
    import Router from "@koa/router";
    import { bearer } from "@retail-pos/koa-bearer";
    import Koa from "koa";
    const [app, router] = [new Koa(), new Router()];
    app.use((ctx, next) => {
      if (ctx.get("x-user")) ctx.state.user = { name: ctx.get("x-user") };
      return next();
    });`;
  const fastify = `${records}
    import { bearer } from "@retail-pos/fastify-bearer";
    import Fastify from "fastify";
    const app = Fastify();
    app.decorateRequest("user", null);
    app.addHook("onRequest", async (request) => {
      if (request.headers["x-user"]) request.user = { name: request.headers["x-user"] };
    });`;
  const hono = `${records}
    import { serve } from "@hono/node-server";
    import { bearer } from "@retail-pos/hono-bearer";
    import { Hono } from "hono";
    const app = new Hono();
    app.use((c, next) => {
      if (c.req.header("x-user")) c.set("user", { name: c.req.header("x-user") });
      return next();
    });`;

  test.each([
    ["express-bearer", express, "app.listen(process.env.PORT);"],
    ["koa-bearer", koa, "app.use(router.routes());\napp.listen(process.env.PORT);"],
    ["fastify-bearer", fastify, "await app.listen({ port: Number(process.env.PORT) });"],
    ["hono-bearer", hono, "serve({ fetch: app.fetch, port: Number(process.env.PORT) });"],
  ])(
    "its owner sees it with the program of %s; to a stranger it does not exist",
    async (name, before, after) => {
      const [readme, heading] = [`packages/${name}/README.md`, `@retail-pos/${name}`];
      const [showProducts] = /^async function showProducts.*?^\}/ms.exec(programIn(readme, heading)) ?? [];
      const program = programIn(readme, "Who may act for which store");
      await start([before, program, showProducts, after].join("\n"));
      const ask = (path: string, user?: string) =>
        browser().open(`http://localhost:${port}/stores/${path}/products`, {
          headers: user === undefined ? {} : { "x-user": user },
        });
      expect(await ask(store, "owner")).toMatchObject({
        status: 200,
        body: expect.stringContaining("House espresso"),
      });
      const seen = sandbox.requests.length;
      for (const path of [store, "no-such-store", "evil.example"])
        for (const user of ["stranger", undefined]) expect((await ask(path, user)).status).toBe(404);
      expect(sandbox.requests).toHaveLength(seen);
    },
  );
});

test("the program of fetch reads products, and ends", async () => {
  expect(await outputOf(programIn("packages/fetch/README.md"))).toContain("House espresso");
});

test("the program of core exchanges a code and reads products", async () => {
  const code = sandbox.approve(store).searchParams.get("code");
  const after = `
    await logIn("${store}", "${code}");
    const { data } = await products("${store}");
    console.log(data[0].name);`;
  expect(await outputOf(programIn("packages/core/README.md") + after)).toContain("House espresso");
});

test("the program of opentelemetry shows a login, its token request and the fleet to Prometheus", async () => {
  const after = `
    await pos.connect(await pos.exchange("${store}", process.env.CODE));
    stopCounting();
    const stop = countRetailers({ client: pos });
    const page = async () => (await fetch("http://localhost:" + process.env.METRICS_PORT + "/metrics")).text();
    while (!/^retail_pos_retailers_connected\\{.* 1$/m.test(await page())); // until it has counted
    console.log(await page());
    stop();
    await exporter.shutdown();`;
  const source = programIn("packages/opentelemetry/README.md") + after;
  const page = await outputOf(source, { METRICS_PORT: String(port) });
  expect(page).toMatch(/^retail_pos_logins_total\{otel_scope_name="@retail-pos\/opentelemetry"\} 1$/m);
  expect(page).toMatch(/^retail_pos_token_requests_total\{retail_pos_grant="authorization_code",\S+\} 1$/m);
  expect(page).toMatch(/^retail_pos_retailers_connected\{\S+\} 1$/m);
  expect(page).not.toContain(store);
});

describe("the program of each store logs in and reads products:", () => {
  const after = `
    await logIn("${store}", process.env.CODE);
    const { data } = await products("${store}");
    console.log(data[0].name);
    await pos.disconnect("${store}");`;

  test("store-sqlite, and the next process finds the store connected", async () => {
    const source = programIn("packages/store-sqlite/README.md");
    const again = `console.log((await products("${store}")).data[0].name);`;
    expect(await outputOf(source + after.replace(/await pos.disconnect.*/, ""))).toContain("House espresso");
    expect(await outputOf(source + again)).toContain("House espresso");
  });

  test("sealed-store", async () => {
    expect(await outputOf(programIn("packages/sealed-store/README.md") + after)).toContain("House espresso");
  });

  test.skipIf(!hasRedis)("store-redis", async () => {
    expect(await outputOf(programIn("packages/store-redis/README.md") + after)).toContain("House espresso");
  });

  test.skipIf(!hasPostgres)("store-postgres", async () => {
    expect(await outputOf(programIn("packages/store-postgres/README.md") + after)).toContain(
      "House espresso",
    );
  });
});

describe("the modules of cli are what its commands read:", () => {
  /** Commands run with the module itself; `before` and `after` see what it exports. */
  const running = (module: string, commands: string[][], before = "", after = "") => `${module}
    import { spawnSync } from "node:child_process";
    if (!process.argv[2]) {
      ${before}
      for (const command of ${JSON.stringify(commands)}) {
        const args = ["${root}/packages/cli/dist/bin.js", ...command, "--client", import.meta.filename];
        const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
        console.log(command[0], status, stdout + stderr);
      }
      ${after}
      process.exit();
    }`;

  test.skipIf(!hasRedis)("list", async () => {
    const module = programIn("packages/cli/README.md", "@retail-pos/cli");
    expect(await outputOf(running(module, [["list"]]))).toMatch(/^list 0 [\d,]+ connected, /m);
  });

  test.skipIf(!(hasRedis && hasPostgres))("copy, seal, reseal and status", async () => {
    const module = programIn("packages/cli/README.md", "Moving to another store");
    const plain = (domainPrefix: string) =>
      JSON.stringify({
        domainPrefix,
        access: { value: "an-access-token" },
        refreshToken: "a-refresh-token",
        issuedAt: 1_900_000_000_000,
        version: "1",
      });
    const program = running(
      module,
      [
        ["copy"],
        ["seal"],
        ["reseal"],
        ["status", "to-be-copied"],
        ["disconnect", "--yes", "to-be-sealed", "unknown"],
      ],
      `await from.save(${plain("to-be-copied")}); await postgres.store.save(${plain("to-be-sealed")});`,
      `await from.remove("to-be-copied");`,
    );
    const output = await outputOf(program);
    expect(output).toMatch(/^copy 0 [\s\S]*^[1-9]\d* copied/m);
    expect(output).toMatch(/^seal 0 [\s\S]*1 sealed/m);
    expect(output).toMatch(/^reseal 0 /m);
    expect(output).toMatch(/^status 0 /m);
    expect(output).toMatch(/^disconnect 1 [\s\S]*unknown/m);
    expect(output).not.toMatch(/an-access-token|a-refresh-token/);
  });
});

describe("the sandbox's README:", () => {
  const inReadme = (heading: string) => programIn("packages/sandbox/README.md", heading);

  test("its program trades a code for a token and reads products", async () => {
    expect(await outputOf(inReadme("@retail-pos/sandbox"))).toContain("House espresso");
  });

  test("time moves when it is told to, and a fault tells whom it struck", async () => {
    expect(await outputOf(inReadme("Time and faults"))).toBe("3600000\n0\n");
  });
});

describe("the README of store-contracts:", () => {
  const inReadme = (heading: string) => programIn("packages/store-contracts/README.md", heading);

  test("the contracts are passed by the memory store and the memory lock", async () => {
    expectAllPassed(await outputOf(inReadme("@retail-pos/store-contracts")));
  });

  test.skipIf(!hasPostgres)("the store on a user table keeps every promise of a store", async () => {
    const pool = connect({ max: 1 });
    await pool.query(`CREATE TABLE ${schema}.users (domain_prefix text UNIQUE, name text, tokens jsonb)`);
    expectAllPassed(await outputOf(inReadme("Tokens in your user table")));
  });
});

function programIn(document: string, heading?: string): string {
  return programOf(document, "test/readme.test.ts", heading);
}

/** What node:test says at the end. */
function expectAllPassed(output: string): void {
  expect(output).toMatch(/\bpass [1-9]/);
  expect(output).toMatch(/\bfail 0\b/);
}

function run(source: string, more: NodeJS.ProcessEnv = {}): ChildProcess {
  const folder = `${root}/node_modules/.readme`; // there, so that the packages are found as an installed app finds them
  mkdirSync(folder, { recursive: true });
  const file = `${folder}/program-${port}.mjs`;
  writeFileSync(file, source);
  program = spawn(process.execPath, [file], {
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      ...process.env,
      PORT: String(port),
      RETAIL_POS_AUTH_URL: sandbox.authUrl,
      RETAIL_POS_BASE_URL: sandbox.baseUrl,
      RETAIL_POS_CLIENT_ID: sandbox.application.clientId,
      RETAIL_POS_CLIENT_SECRET: sandbox.application.clientSecret,
      RETAIL_POS_REDIRECT_URI: sandbox.application.redirectUri,
      CODE: sandbox.approve(store).searchParams.get("code") ?? "",
      DATABASE_FILE: databaseFile,
      DATABASE_URL: databaseUrl,
      REDIS_URL: ownRedis,
      PGOPTIONS: `-c search_path=${schema}`,
      TOKEN_KEY: Buffer.alloc(32, 7).toString("base64"),
      DOMAIN_PREFIX: store,
      SESSION_SECRET: "a secret of the tests, longer than 32 letters",
      PERSONAL_TOKEN: sandbox.createPersonalToken(store),
      ...more,
    },
  });
  return program;
}

/** Starts a server program and waits until it answers. */
async function start(source: string): Promise<void> {
  const child = run(source);
  let errors = "";
  child.stderr?.on("data", (chunk) => {
    errors += chunk;
  });
  const ended = new Promise<never>((_, reject) => {
    child.once("exit", (code) => reject(new Error(`the program ended with ${code}: ${errors}`)));
  });
  ended.catch(() => {});
  await Promise.race([ended, answerOf("/nothing-here")]);
}

/** Runs a program to its end. */
function outputOf(source: string, more?: NodeJS.ProcessEnv): Promise<string> {
  const child = run(source, more);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", (chunk) => {
      output += chunk;
    });
  }
  return new Promise((resolve) => child.once("close", () => resolve(output)));
}

/** Asks until the server listens. */
async function answerOf(path: string) {
  while (program?.exitCode === null) {
    try {
      return await browser().open(`http://localhost:${port}${path}`);
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 20)); // until the server listens
    }
  }
  throw new Error("the program ended before it answered");
}

async function expectProductsAfterLogin(): Promise<void> {
  const person = browser();
  const origin = `http://localhost:${port}`;
  const start = await person.open(`${origin}/auth/retail-pos`);
  const callback = await person.open(sandbox.consent(start.location, store));
  expect(callback.location).toBe("/products");
  const products = await person.open(`${origin}/products`);
  expect(products.body).toContain("House espresso");
}
