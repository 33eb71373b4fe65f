import { type ChildProcess, execFile, spawn } from "node:child_process";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:http2";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { parseEnv, promisify } from "node:util";
import { parseDomainPrefix, retailPos, settingsFromEnv } from "@retail-pos/core";
import { type Sandbox, startSandbox, virtualClock } from "@retail-pos/sandbox";
import { redisTokens } from "@retail-pos/store-redis";
import { Hono, type MiddlewareHandler } from "hono";
import type { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { startServer } from "../packages/store-redis/testing/server.js";
import { browser } from "./support/browser.js";
import { type Block, blocksOf, root } from "./support/docs/documents.js";
import { filesIn } from "./support/files.js";
import { freePort } from "./support/listen.js";

// What docs/frameworks shows runs as it stands there, on the built packages, and is as short as we say.

const store = "harbour-coffee";
const EXAMPLES = readdirSync(join(root, "examples/frameworks"));
/** Those that Node runs once they are compiled. `frameworks.long.test.ts` and `next.long.test.ts` have the others. */
const FOLDERS = ["fastify", "hono", "nestjs", "node-http"];
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

beforeAll(async () => {
  const projects = FOLDERS.map((name) => join("examples/frameworks", name));
  const tsc = join(root, "node_modules", ".bin", "tsc");
  await promisify(execFile)(tsc, ["-b", ...projects], { cwd: root }).catch(({ stdout }) => {
    throw new Error(stdout);
  });
});

describe.each([
  ["Express", () => write("app.js", blockIn("docs/frameworks/express.md").text)],
  ["Koa", () => write("app.js", blockIn("docs/frameworks/koa.md").text)],
  ["Fastify with Passport", () => write("app.js", blockIn("docs/frameworks/fastify.md").text)],
  ...FOLDERS.map((name) => [name, () => join(root, "examples/frameworks", name, "dist/app.js")] as const),
] as const)("the program for %s", (_name, fileOf) => {
  let program: ChildProcess;

  beforeAll(async () => {
    await openSandbox();
    program = await start(fileOf());
  });
  afterAll(async () => {
    program?.kill("SIGKILL");
    await sandbox.close();
  });

  test("logs in, calls, and goes on calling when the token has ended", async () => {
    const person = browser();
    const stranger = await person.open(at("/products"));
    expect([301, 302, 401]).toContain(stranger.status);
    expect(sandbox.requests).toHaveLength(0);

    const tagged = await browser().open(`${login()}?utm_source=news&returnTo=//shop?x=1`);
    expect(tagged.location).toMatch(/\/connect\?/);
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
    const store = "second-chapter";
    const person = browser();
    const callback = sandbox.consent((await person.open(login())).location, store);
    for (const query of ["error=access_denied", "code=c&domain_prefix=shop&state=forged-by-somebody"])
      expect((await person.open(at(`/auth/retail-pos/callback?${query}`))).status).toBe(403);
    expect((await person.open(callback)).location).toBe("/products");
    expect((await person.open(callback)).status).toBe(403);
    expect(sandbox.tokenRequests(store)).toHaveLength(1);

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
    const person = browser();
    await person.open(sandbox.consent((await person.open(login())).location, store));
    for (const status of [404, 429, 500]) {
      sandbox.fault(status, { endpoint: "api" });
      expect((await person.open(at("/products"))).status).toBe(status);
    }
  });

  test("behind a proxy that ends TLS, logs in by cookies that no other host can set", async () => {
    const callback = "https://shop.example.net/auth/retail-pos/callback";
    const [service, plainly] = [await startSandbox({ redirectUri: callback }), sandbox];
    const [behind, before] = [await freePort(), port];
    onTestFinished(() => service.close());
    [sandbox, port] = [service, behind];
    onTestFinished(() => {
      [sandbox, port] = [plainly, before];
    });
    const secured = await start(fileOf());
    onTestFinished(() => void secured.kill("SIGKILL"));

    const person = browser();
    const headers = { "x-forwarded-proto": "https", "x-forwarded-host": "shop.example.net" };
    const { location } = await person.open(login(), { headers });
    const { pathname, search } = service.consent(location, store);
    expect((await person.open(at(pathname + search), { headers })).location).toBe("/products");
    expect((await person.open(at("/products"), { headers })).body).toContain("House espresso");
    const names = person.answers.flatMap((answer) => answer.headers.getSetCookie());
    expect(names.length).toBeGreaterThan(1);
    for (const name of names) expect(name).toMatch(/^__Host-/);
  });
});

describe.each(EXAMPLES)("examples/frameworks/%s", (name) => {
  const folder = `examples/frameworks/${name}`;
  const files = filesIn(folder).filter((file) => /(?<!\.d)\.tsx?$/.test(file));
  const read = (file: string) => readFileSync(join(root, file), "utf8");

  test("has at most 120 lines of its own", () => {
    const lines = files.flatMap((file) => read(file).trimEnd().split("\n"));
    expect(lines.length).toBeGreaterThan(20);
    expect(lines.length).toBeLessThanOrEqual(120);
  });

  test("names in its package.json what it imports", () => {
    const { dependencies, devDependencies } = JSON.parse(read(`${folder}/package.json`));
    const imports = files.flatMap((file) => [...read(file).matchAll(/(?:from|^import) "([^."][^"]*)"/gm)]);
    const names = imports.map(([, path = ""]) => /^(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? path);
    expect(names.length).toBeGreaterThan(2);
    const there = { ...dependencies, ...devDependencies };
    const isThere = (each: string) => each in there || `@types/${each}` in there;
    expect(names.filter((each) => !isThere(each) && !/^(node|cloudflare):/.test(each))).toEqual([]);
  });

  test("names on its page all packages of ours that it needs", () => {
    const { dependencies } = JSON.parse(read(`${folder}/package.json`));
    const install =
      blocksOf(`docs/frameworks/${name}.md`).find(({ language }) => language === "sh")?.text ?? "";
    const named = install.match(/\S*retail-pos\S*/g) ?? [];
    expect(named.sort()).toEqual(
      Object.keys(dependencies)
        .filter((each) => each.includes("retail-pos"))
        .sort(),
    );
  });

  test("has the sandbox's settings as an example", async () => {
    const { application } = await startSandbox().then((each) => each.close().then(() => each));
    const env = parseEnv(read(`${folder}/.env.example`));
    expect(settingsFromEnv(env)).toEqual({
      authUrl: "http://127.0.0.1:4010",
      baseUrl: "http://127.0.0.1:4010/stores/{domain_prefix}",
      ...application,
    });
    expect(env["SESSION_SECRET"]).toBe(""); // one that everybody knows would make sessions that anybody can sign
  });

  test("has the session of the others, if it has one in a file", () => {
    const [session] = files.filter((file) => file.endsWith("/session.ts"));
    if (session) expect(read(session)).toBe(read("examples/frameworks/hono/lib/session.ts"));
    else expect(["fastify", "nestjs", "react-router"]).toContain(name);
  });
});

describe.each<[string, (http: "node:http" | "node:http2") => string]>([
  ["Fastify", fastifyWithHooks],
  ["Koa 3", (http) => koaWithHooks("koa", http)],
  ["Koa 2", (http) => koaWithHooks("koa2", http)],
])("without Passport on %s", (_, programOn) => {
  beforeEach(openSandbox);
  afterEach(() => sandbox.close());

  test("a login's answers go through the framework: session, hooks, and cookies of others", async () => {
    const program = await start(programOn("node:http"));
    onTestFinished(() => void program.kill("SIGKILL"));
    const person = browser();
    const started = await person.open(`${login()}?utm_source=news`);
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
    expect([404, 405]).toContain((await person.open(login(), { method: "HEAD" })).status);
  });

  test("a login starts over HTTP/2", async () => {
    const program = run(programOn("node:http2"));
    onTestFinished(() => void program.kill("SIGKILL"));
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

describe.skipIf(!redis)("NestJS, stopped by a signal while it renews for a caller who has left,", () => {
  afterEach(() => sandbox.close());

  test.each([
    ["ends when the new tokens are saved, with what its page shows", true],
    ["and else at once", false],
  ])("%s", async (_, waits) => {
    await openSandbox();
    await redis?.admin.flushall();
    const program = await start(nestWithRedis(waits));
    onTestFinished(() => void program.kill("SIGKILL"));
    const ended = once(program, "exit");
    const person = browser();
    await person.open(sandbox.consent((await person.open(login())).location, store));

    sandbox.expire(store);
    const late = sandbox.fault("late", { domainPrefix: store });
    const left = new AbortController();
    const headers = { cookie: person.cookies("localhost") };
    const call = fetch(at("/products"), { headers, signal: left.signal }).catch(() => "left");
    await late.struck;
    left.abort();
    expect(await call).toBe("left");
    program.kill("SIGTERM");
    if (waits) await expect.poll(() => fetch(at("/")).catch(() => "closed")).toBe("closed");
    else await ended;
    late.release();
    await ended;

    const { store: tokens } = redisTokens({ client: redis?.admin as Redis });
    const { access } = (await tokens.load(parseDomainPrefix(store))) ?? {};
    expect(sandbox.accepts(store, access?.value ?? "")).toBe(waits);
  });

  /** The program for Nest as it is shown, on Redis, with the hooks of a stop and perhaps what the page has for them. */
  function nestWithRedis(waits: boolean): string {
    const renewals = waits ? recipeForNest("Renewals") : "";
    const options = `...settingsFromEnv(), ...redisTokens({ client: redis })${waits ? ", background" : ""}`;
    return writeNest(
      `import { redisTokens } from "@retail-pos/store-redis";
      import { Redis } from "ioredis";
      const redis = new Redis(process.env.REDIS_URL);
      ${renewals}`,
      [
        ["settingsFromEnv()", `{ ${options} }`],
        ["await app.listen(", "app.enableShutdownHooks();\nawait app.listen("],
        ["providers: [", waits ? "providers: [Renewals, " : "providers: ["],
      ],
    );
  }
});

test.each(["", "secret"])("the session in one file opens nothing with the secret %j", async (secret) => {
  process.env["SESSION_SECRET"] = secret;
  onTestFinished(() => void delete process.env["SESSION_SECRET"]);
  const file = pathToFileURL(join(root, "examples/frameworks/hono/dist/lib/session.js")).href;
  const { remember, storeIn } = await import(file);
  const text = (part: object) => Buffer.from(JSON.stringify(part)).toString("base64url");
  const unsigned = `${text({ alg: "HS256" })}.${text({ store })}`;
  const signature = createHmac("sha256", secret).update(unsigned).digest("base64url");
  const headers = new Headers({ cookie: `session=${unsigned}.${signature}` });
  expect(await storeIn({ headers })).toBeUndefined();
  await expect(remember(store, "/products")).rejects.toThrow("SESSION_SECRET must be 32 characters or more");
});

test("NestJS connects a store to the person who is logged in, and leaves them logged in", async () => {
  await openSandbox();
  onTestFinished(() => sandbox.close());
  const program = await start(nestForPeople());
  onTestFinished(() => void program.kill("SIGKILL"));
  const [ada, ben] = [browser(), browser()];
  const of = async (person: typeof ada) => JSON.parse((await person.open(at("/last"))).body);
  expect((await ada.open(login())).status).toBe(401);
  await ada.open(at("/log-in/ada"));
  const callback = sandbox.consent((await ada.open(login())).location, store);
  expect((await ada.open(callback)).location).toBe("/products");
  expect(await of(ada)).toEqual({ validated: "ada", user: { id: "ada" }, account: { domainPrefix: store } });
  expect(await of(ada)).toMatchObject({ user: { id: "ada" }, account: null }); // on the next page

  await ben.open(at("/log-in/ada"));
  const begun = sandbox.consent((await ben.open(login())).location, store);
  await ben.open(at("/log-in/ben"));
  expect((await ben.open(begun)).status).toBe(403);
  expect(await of(ben)).toMatchObject({ user: { id: "ben" }, account: null });
});

/** The program for Nest with the guard that its page has for people, and pages that log a person in and look. */
function nestForPeople(): string {
  return writeNest("const last = {};", [
    ["super({ client })", "super({ client, passReqToCallback: true })"],
    ["validate({ domainPrefix }) {", "validate({ user }, { domainPrefix }) { last.validated = user.id;"],
    ["let LoginController", `${recipeForNest("ConnectGuard")}\nlet LoginController`],
    ["UseGuards(LoginGuard)", "UseGuards(ConnectGuard)"],
    [
      "app.use(passport.session());",
      `app.use(passport.session());
      app.use("/log-in", (req, res, next) => req.logIn({ id: req.path.slice(1) }, () => res.end()));
      app.use((req, res, next) => {
        res.once("finish", () => Object.assign(last, { user: req.user, account: req.account ?? null }));
        next();
      });
      app.use("/last", (req, res) => res.json(last));`,
    ],
  ]);
}

/** What the page for Nest shows with a class, as JavaScript. */
function recipeForNest(name: string): string {
  const block = blocksOf("docs/frameworks/nestjs.md").find(({ text }) => text.includes(`class ${name} `));
  const types = /@Injectable\(\)|\boverride |<Promise<unknown>>|: (?:Promise<unknown>|ExecutionContext)/g;
  return (block?.text ?? "").replaceAll(types, "");
}

/** @returns the path of the program for Nest as it is shown, but for these changes. */
function writeNest(before: string, changes: [old: string, now: string][]): string {
  const text = readFileSync(join(root, "examples/frameworks/nestjs/dist/app.js"), "utf8");
  for (const [old] of changes) expect(text).toContain(old);
  const changed = changes.reduce((program, [old, now]) => program.replace(old, () => now), text);
  return write("nest.js", `${before}\n${changed}`);
}

describe("the rule for queue workers", () => {
  const clock = virtualClock();
  let retryAtOf: (error: unknown, attempt: number) => number | undefined;

  beforeEach(async () => {
    await openSandbox();
    const file = write("queue.js", blockIn("docs/queue-workers.md").text);
    ({ retryAtOf } = await import(pathToFileURL(file).href));
  });
  afterEach(() => sandbox.close());

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
  const { text } = blockIn("docs/frameworks/serverless.md");
  const program = (source: string) => write("serverless.js", source);

  beforeEach(connectWithHalfAMinuteLeft);
  afterEach(() => sandbox.close());

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
    ["docs/frameworks/express.md", 15, 0],
    ["docs/frameworks/koa.md", 15, 0],
    ["docs/frameworks/fastify.md", 15, 0],
    ["docs/frameworks/hono.md", 15, 0],
    ["docs/frameworks/node-http.md", 15, 2], // and two of its routes
    ["docs/frameworks/nextjs.md", 15, 0],
    ["docs/frameworks/nestjs.md", 30, 1], // and one of its module: for which routes
  ])("%s: at most %i", (document, most, elsewhere) => {
    const lines = blocksOf(document).flatMap(linesForLogin);
    expect(lines.length).toBeGreaterThan(5);
    expect(lines.length + elsewhere).toBeLessThanOrEqual(most);
  });
});

async function openSandbox(): Promise<void> {
  port = await freePort();
  sandbox = await startSandbox({ redirectUri: at("/auth/retail-pos/callback") });
}

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

/** The one program of a document that is run here, or the one under a heading of it. */
function blockIn(document: string, heading?: string): Block {
  const isMeant = (block: Block) => block.heading === (heading ?? block.heading);
  const blocks = blocksOf(document).filter(({ mark }) => mark === "run by test/frameworks.test.ts");
  const [block] = blocks.filter(isMeant);
  if (!block) throw new Error(`${document}: a program, please`);
  return block;
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
  const text = readFileSync(join(root, "examples/frameworks/fastify/dist/app.js"), "utf8");
  const hooks = `app.addHook("onRequest", async (_, reply) => void reply.header("set-cookie", "of=another"));
    app.addHook("onSend", async (_, reply) => void reply.header("x-hook", "1"));`;
  const made = /Fastify\(\{ (exposeHeadRoutes: false) \}\);.*/;
  expect(text).toMatch(made);
  const http2 = http === "node:http2" ? "http2: true, " : "";
  return write("app.js", text.replace(made, `Fastify({ ${http2}$1 });${hooks}`));
}

/** A program for Koa with the file that is shown, and a middleware and a cookie of the application's own. */
function koaWithHooks(koa: string, http: string): string {
  write("lib/on-koa.js", blockIn("docs/frameworks/koa.md", "Without Passport").text);
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
      onLogin: async ({ request, login }) => {
        const session = sessions.get(request);
        await session.regenerate();
        session.store = login.domainPrefix;
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

/** Runs a file; whoever starts it ends it. */
function run(file: string): ChildProcess {
  const { authUrl, baseUrl, clientId, clientSecret, redirectUri } = settings();
  return spawn(process.execPath, [file], {
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
}

/** Starts a server and waits until it answers. */
async function start(file: string): Promise<ChildProcess> {
  const child = run(file);
  let errors = "";
  child.stderr?.on("data", (chunk) => {
    errors += chunk;
  });
  while (child.exitCode === null) {
    try {
      await fetch(at("/nothing-here"));
      return child;
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
  if (block.mark.includes("/app/auth/")) return withoutComments(block.text.replaceAll(/^import .*$/gm, ""));
  return block.text.split(/\n\n/).flatMap((paragraph) => {
    const [, ours = ""] = paragraph.split(/^ *\/\/ (?:log in with store|call the API)$/m);
    return withoutComments(ours);
  });
}

function withoutComments(source: string): string[] {
  const lines = source.replaceAll(/\/\*[\s\S]*?\*\//g, "").split("\n");
  return lines.filter((line) => line.trim() !== "" && !line.trim().startsWith("//"));
}
