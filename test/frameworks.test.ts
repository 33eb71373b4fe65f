import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:http2";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { retailPos } from "@retail-pos/core";
import { type Sandbox, startSandbox, virtualClock } from "@retail-pos/sandbox";
import { redisTokens } from "@retail-pos/store-redis";
import { Hono, type MiddlewareHandler } from "hono";
import type { Redis } from "ioredis";
import { afterAll, afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { startServer } from "../packages/store-redis/testing/server.js";
import { browser } from "./support/browser.js";
import { type Block, blocksOf, root } from "./support/docs/documents.js";
import { freePort } from "./support/listen.js";

// What docs/frameworks.md shows runs as it stands there, on the built packages, and is as short as we say.

const store = "harbour-coffee";
const blocks = blocksOf("docs/frameworks.md").filter(({ mark }) => mark.startsWith("run by "));
/** Of this file alone. If no `redis-server` is installed its tests are skipped; with `NO_SKIP=1` they fail instead. */
const redis = await startServer();
if (!redis && process.env["NO_SKIP"])
  throw new Error("With NO_SKIP=1 nothing may be skipped: there is no redis-server");
afterAll(() => redis?.close());

mkdirSync(join(root, "node_modules", ".frameworks"), { recursive: true });
const folder = mkdtempSync(join(root, "node_modules", ".frameworks", "run-")); // there, so that packages are found
writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let sandbox: Sandbox;
let port: number;

beforeEach(async () => {
  port = await freePort();
  sandbox = await startSandbox({ redirectUri: `http://localhost:${port}/auth/retail-pos/callback` });
});
afterEach(() => sandbox.close());

describe.each(["Express", "Koa", "Fastify", "Hono", "NestJS", "`node:http`"])(
  "the program for %s",
  (heading) => {
    test("logs in, calls, and goes on calling when the token has ended", async () => {
      await start(await programUnder(heading));
      const person = browser();
      const stranger = await person.open(at("/products"));
      expect([301, 302, 401]).toContain(stranger.status);
      expect(sandbox.requests).toHaveLength(0);

      const [tab, other] = await Promise.all([person.open(login()), person.open(login())]);
      expect((await person.open(sandbox.consent(tab.location, store))).location).toBe("/products");
      expect((await person.open(at("/products"))).body).toContain("House espresso");
      expect((await person.open(sandbox.consent(other.location, store))).location).toBe("/products");
      sandbox.expire(store);
      expect((await person.open(at("/products"))).body).toContain("House espresso");
      expect(sandbox.tokenRequests(store).map(({ grantType }) => grantType)).toEqual([
        "authorization_code",
        "authorization_code",
        "refresh_token",
      ]);
    });

    test("refuses what it must, and says when to come back", async () => {
      await start(await programUnder(heading));
      const person = browser();
      const callback = sandbox.consent((await person.open(login())).location, store);
      for (const query of ["error=access_denied", "code=c&domain_prefix=shop&state=forged-by-somebody"])
        expect((await person.open(at(`/auth/retail-pos/callback?${query}`))).status).toBe(403);
      expect((await person.open(callback)).location).toBe("/products");
      expect((await person.open(callback)).status).toBe(403);
      expect(sandbox.tokenRequests()).toHaveLength(1);

      const again = sandbox.consent((await person.open(login())).location, store);
      sandbox.limit(store, 60_000);
      sandbox.expire(store);
      for (const address of [again, at("/products")]) {
        const answer = await person.open(address);
        expect([answer.status, answer.headers.get("retry-after")]).toEqual([
          503,
          expect.stringMatching(/^\d+$/),
        ]);
      }
    });

    test("passes the API's own status on, whatever its body", async () => {
      await start(await programUnder(heading));
      const person = browser();
      await person.open(sandbox.consent((await person.open(login())).location, store));
      for (const status of [404, 429, 500]) {
        sandbox.fault(status, { endpoint: "api" });
        expect((await person.open(at("/products"))).status).toBe(status);
      }
    });
  },
);

describe.each<[string, (http: "node:http" | "node:http2") => string]>([
  ["Fastify", fastifyWithHooks],
  ["Koa 3", (http) => koaWithHooks("koa", http)],
  ["Koa 2", (http) => koaWithHooks("koa2", http)],
])("without Passport on %s", (_, programOn) => {
  test("a login's answers go through the framework: session, hooks, and cookies of others", async () => {
    await start(programOn("node:http"));
    const person = browser();
    const started = await person.open(login());
    const finished = await person.open(sandbox.consent(started.location, store));
    expect(finished.location).toBe("/products");
    for (const { headers } of [started, finished]) {
      expect([headers.get("x-hook"), headers.get("cache-control")]).toEqual(["1", "no-store"]);
      expect(headers.getSetCookie()).toEqual(
        expect.arrayContaining([
          expect.stringMatching(/^of=another/),
          expect.stringMatching(/^retail-pos\./),
        ]),
      );
    }
    expect((await person.open(at("/products"))).body).toContain("House espresso");
    expect((await person.open(login(), { method: "HEAD" })).status).not.toBe(302);
  });

  test("a login starts over HTTP/2", async () => {
    run(programOn("node:http2"));
    const { authUrl } = settings();
    expect(await headersOverHttp2("/auth/retail-pos")).toMatchObject({
      ":status": 302,
      location: expect.stringContaining(authUrl),
    });
  });
});

test.each<[string, MiddlewareHandler, string[]]>([
  [
    "before, and Hono drops the login's, as we say",
    (c, next) => {
      c.res.headers.append("set-cookie", "own=1");
      return next();
    },
    ["own=1"],
  ],
  [
    "after, and Hono keeps both",
    async (c, next) => {
      await next();
      c.res.headers.append("set-cookie", "own=1");
    },
    ["login=1", "own=1"],
  ],
])("a middleware sets a cookie %s", async (_, middleware, cookies) => {
  const answer = () => new Response(null, { headers: { "set-cookie": "login=1" } });
  const app = new Hono().use(middleware).get("/", answer);
  expect((await app.request("/")).headers.getSetCookie()).toEqual(cookies);
});

describe("the rule for queue workers", () => {
  const clock = virtualClock();
  let retryAtOf: (error: unknown, attempt: number) => number | undefined;

  beforeEach(async () => {
    const file = write("queue.js", blockUnder("Queue workers").text);
    ({ retryAtOf } = await import(pathToFileURL(file).href));
  });

  test("later, at the instant that the service named", async () => {
    const error = await failureOf((service) => void service.limit(store, 60_000));
    expect(error).toMatchObject({ code: "rate_limited" });
    expect(retryAtOf(error, 1)).toBe((error as { retryAt: number }).retryAt);
  });

  test.each([
    ["token_endpoint_failed", (service: Sandbox) => void service.fault(503)],
    ["bad_token_response", (service: Sandbox) => void service.fault("html")],
  ])("later, and later with each attempt: %s", async (code, trouble) => {
    const error = await failureOf(trouble);
    expect(error).toMatchObject({ code });
    expect(retryAtOf(error, 3)).toBeGreaterThan(Date.now());
    expect(retryAtOf(error, 9)).toBeGreaterThan(Number(retryAtOf(error, 3)));
  });

  test("later: a network that fails", () => {
    expect(retryAtOf(new TypeError("fetch failed"), 1)).toBeGreaterThan(Date.now());
  });

  test.each([
    ["reconnect_required", (service: Sandbox) => void service.refuse(store), {}],
    ["client_refused", () => {}, { clientSecret: "not the application's" }],
  ])("never: %s", async (code, trouble, wrong) => {
    const error = await failureOf(trouble, wrong);
    expect(error).toMatchObject({ code });
    expect(retryAtOf(error, 1)).toBeUndefined();
  });

  test.each([
    ["not_connected", store],
    ["invalid_domain_prefix", "evil.example/"],
  ])("never: %s", async (code, retailer) => {
    const client = retailPos({ ...settings() });
    const error = await Promise.resolve()
      .then(() => client.retailer(retailer).token())
      .catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code });
    expect(retryAtOf(error, 1)).toBeUndefined();
  });

  /** What a worker gets whose token has ended. */
  async function failureOf(trouble: (service: Sandbox) => void, wrong: object = {}): Promise<unknown> {
    await sandbox.close();
    sandbox = await startSandbox({ clock, lifetimeMs: 600_000 });
    const kept = retailPos({ ...settings(), clock });
    const code = sandbox.approve(store).searchParams.get("code") as string;
    const tokens = await kept.exchange(store, code);
    const worker = retailPos({ ...settings(), ...wrong, clock });
    await worker.connect(tokens);
    clock.advance(600_000);
    trouble(sandbox);
    return worker
      .retailer(store)
      .token()
      .then(
        () => "no error",
        (reason) => reason,
      );
  }
});

describe.skipIf(!redis)("the serverless program", () => {
  const { text } = blockUnder("Serverless");
  const program = (source: string) => write("serverless.js", source);

  beforeEach(connectWithHalfAMinuteLeft);

  test("renews nothing in the background", async () => {
    program(text);
    expect(await outputOf("products", "products", "products")).toEqual(["8", "8", "8"]);
    expect(sandbox.tokenRequests(store)).toHaveLength(1); // the login's
  });

  test("which it would do without its setting", async () => {
    program(text.replace(/^ *renewEarlyMs: 0.*$/m, ""));
    await outputOf("products", "products", "products");
    expect(sandbox.tokenRequests(store)).toHaveLength(2);
  });

  test("renews by the clock what ends soon", async () => {
    program(text);
    const [report, products] = await outputOf("renew", "products");
    expect(JSON.parse(report ?? "")).toMatchObject({ due: 1, renewed: 1 });
    expect(products).toBe("8");
    expect(sandbox.tokenRequests(store)).toHaveLength(2);
  });

  async function connectWithHalfAMinuteLeft() {
    await sandbox.close();
    sandbox = await startSandbox({ lifetimeMs: 600_000 });
    await redis?.admin.flushall();
    const clock = () => Date.now() - 570_000;
    const client = retailPos({ ...settings(), ...redisTokens({ client: redis?.admin as Redis }), clock });
    const code = sandbox.approve(store).searchParams.get("code") as string;
    await client.connect(await client.exchange(store, code));
  }

  /** What its functions answer, one after the other; of products their number. */
  async function outputOf(...names: string[]): Promise<string[]> {
    const file = write(
      "calls.js",
      `import * as program from "./serverless.js";
      for (const name of ${JSON.stringify(names)}) {
        const answer = await program[name]("${store}");
        console.log(answer.data ? answer.data.length : JSON.stringify(answer));
      }
      process.exit();`,
    );
    const child = run(file);
    let output = "";
    child.stdout?.on("data", (chunk) => {
      output += chunk;
    });
    await new Promise((resolve) => child.once("close", resolve));
    return output.trim().split("\n");
  }
});

describe("the lines that a team writes for login and bearer, client settings apart", () => {
  test.each([
    ["Express", 15, 0],
    ["Koa", 15, 0],
    ["Fastify", 15, 0],
    ["Hono", 15, 0],
    ["`node:http`", 15, 2], // and two of its routes
    ["Next.js", 15, 0],
    ["NestJS", 30, 1], // and one of its module: for which routes
  ])("docs/frameworks.md, %s: at most %i", (heading, most, elsewhere) => {
    const lines = blocks.filter((block) => block.heading === heading).flatMap(linesForLogin);
    expect(lines.length).toBeGreaterThan(5);
    expect(lines.length + elsewhere).toBeLessThanOrEqual(most);
  });
});

function at(path: string): string {
  return `http://localhost:${port}${path}`;
}

function login(): string {
  return at("/auth/retail-pos");
}

function settings() {
  const { authUrl, baseUrl, application } = sandbox;
  return { authUrl, baseUrl, ...application };
}

function blockUnder(heading: string): Block {
  const [block, ...others] = blocks.filter((each) => each.heading === heading);
  if (!block || others.length > 0)
    throw new Error(`docs/frameworks.md: one program under ${heading}, please`);
  return block;
}

/** Where a file is that others import, by the comment above it. */
function pathOf({ mark }: Block): string | undefined {
  return / as (\S+)$/.exec(mark)?.[1];
}

/** @returns the file's path. */
function write(name: string, text: string): string {
  const file = join(folder, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

/** The program for Fastify as it is shown, and a hook and a cookie of the application's own. */
function fastifyWithHooks(http: string): string {
  const { text } = blockUnder("Fastify");
  const hooks = `app.addHook("onRequest", async (_, reply) => void reply.header("set-cookie", "of=another"));
    app.addHook("onSend", async (_, reply) => void reply.header("x-hook", "1"));`;
  const made = http === "node:http2" ? "Fastify({ http2: true });" : "Fastify();";
  return write("app.js", text.replace("Fastify();", made + hooks));
}

/** A program for Koa with the file that is shown, and a middleware and a cookie of the application's own. */
function koaWithHooks(koa: string, http: string): string {
  const shown = blocks.find((block) => pathOf(block) === "lib/on-koa.js");
  write("lib/on-koa.js", shown?.text ?? "");
  const program = `
    import { createServer } from "${http}";
    import { retailPos, settingsFromEnv } from "@retail-pos/core";
    import { bearer } from "@retail-pos/koa-bearer";
    import { webLogin } from "@retail-pos/login";
    import Koa from "${koa}";
    import session from "koa-session";
    import { onKoa, sessions } from "./lib/on-koa.js";

    const { PORT, SESSION_SECRET: secret } = process.env;
    const client = retailPos(settingsFromEnv());
    const { start, callback } = webLogin({
      client,
      secret,
      onLogin: ({ request, login }) => {
        sessions.get(request).store = login.domainPrefix;
        return new Response(null, { status: 303, headers: { location: "/products" } });
      },
    });
    const app = new Koa();
    app.keys = [secret];
    app.use(session(app));
    app.use(async (ctx, next) => {
      ctx.cookies.set("of", "another");
      await next();
      ctx.set("x-hook", "1");
    });
    const routes = new Map([["/auth/retail-pos", onKoa(start)], ["/auth/retail-pos/callback", onKoa(callback)]]);
    app.use((ctx, next) => routes.get(ctx.path)?.(ctx) ?? next());
    app.use(bearer({ client, retailer: (ctx) => ctx.session.store }));
    app.use(async (ctx) => {
      ctx.body = await (await ctx.state.retailPos.fetch("api/products")).json();
    });
    createServer(app.callback()).listen(PORT);`;
  return write("app.js", program);
}

/** The program of a framework as a file that Node runs. */
async function programUnder(heading: string): Promise<string> {
  const session = blocks.find((block) => pathOf(block) === "lib/session.js");
  write("lib/session.js", session?.text ?? "");
  const { language, text } = blockUnder(heading);
  if (language === "js") return write("app.js", text);
  const flags = ["--target", "ES2023", "--module", "NodeNext", "--experimentalDecorators", "--noCheck"];
  const tsc = join(root, "node_modules", ".bin", "tsc"); // test/docs.test.ts looks at its types
  await promisify(execFile)(tsc, [...flags, "--ignoreConfig", write("app.ts", text)]);
  return join(folder, "app.js");
}

/** Runs a file until the test is over. */
function run(file: string): ChildProcess {
  const { authUrl, baseUrl, clientId, clientSecret, redirectUri } = settings();
  const child = spawn(process.execPath, [file], {
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      PORT: String(port),
      RETAIL_POS_AUTH_URL: authUrl,
      RETAIL_POS_BASE_URL: baseUrl,
      RETAIL_POS_CLIENT_ID: clientId,
      RETAIL_POS_CLIENT_SECRET: clientSecret,
      RETAIL_POS_REDIRECT_URI: redirectUri,
      SESSION_SECRET: "a secret of the tests, longer than 32 letters",
      REDIS_URL: redis?.url,
    },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}

/** Starts a server and waits until it answers. */
async function start(file: string): Promise<void> {
  const child = run(file);
  let errors = "";
  child.stderr?.on("data", (chunk) => {
    errors += chunk;
  });
  while (child.exitCode === null) {
    try {
      await fetch(at("/nothing-here"));
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 20)); // until it listens
    }
  }
  throw new Error(`the program ended with ${child.exitCode}: ${errors}`);
}

/** An answer's headers, once the server is there. */
async function headersOverHttp2(path: string): Promise<object> {
  for (;;) {
    const session = connect(at("")).on("error", () => {});
    try {
      const [headers] = await once(session.request({ ":path": path }), "response");
      return headers;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 20)); // until it listens
    } finally {
      session.destroy();
    }
  }
}

/** The lines of a program that are there for login and bearer; of a file that is one route, all but the imports. */
function linesForLogin(block: Block): string[] {
  if (pathOf(block)?.startsWith("app/auth/"))
    return withoutComments(block.text.replaceAll(/^import .*$/gm, ""));
  return block.text.split(/\n\n/).flatMap((paragraph) => {
    const [, ours = ""] = paragraph.split(/^ *\/\/ (?:log in with store|call the API)$/m);
    return withoutComments(ours);
  });
}

function withoutComments(source: string): string[] {
  const lines = source.replaceAll(/\/\*[\s\S]*?\*\//g, "").split("\n");
  return lines.filter((line) => line.trim() !== "" && !line.trim().startsWith("//"));
}
