import { randomBytes } from "node:crypto";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { json } from "node:stream/consumers";
import { type Sandbox, startSandbox } from "@retail-pos/sandbox";
import { transformSync } from "rolldown/utils";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  canRun as hasPostgres,
  connect as newPool,
  schema,
  setUp,
  tearDown,
  url,
} from "../packages/store-postgres/testing/postgres.js";
import { type Browser, browser } from "./support/browser.js";
import { type RunningCommand, startCommand } from "./support/command.js";
import { programsIn, root } from "./support/docs/documents.js";
import { freePort, type Listening, listen } from "./support/listen.js";

// The programs of docs/accounts.md as they stand there, on PostgreSQL, beside a sandbox.

const DOCUMENT = "docs/accounts.md";
const programs = [...programsIn(DOCUMENT, "test/accounts.test.ts")].map(([path, text]) => ({
  name: basename(path, ".ts"),
  text,
}));
const store = "harbour-coffee";
const espresso = "House espresso, 250 g";
let sandbox: Sandbox;
let origin: string;
let app: RunningCommand;

const open = (person: Browser, path: string) => person.open(new URL(path, origin));
const post = (person: Browser, path: string) => person.open(new URL(path, origin), { method: "POST" });

async function logIn(id: string): Promise<Browser> {
  const person = browser();
  expect((await post(person, `/log-in/${id}`)).location).toBe("/stores");
  return person;
}

async function connect(person: Browser, domainPrefix = store): Promise<URL> {
  const { location } = await open(person, "/auth/retail-pos");
  const callback = sandbox.consent(location, domainPrefix);
  expect((await person.open(callback)).location).toBe(`/stores/${domainPrefix}`);
  return callback;
}

const alerts: string[] = [];
let webhook: Listening;
let folder: string;
let env: Record<string, string>;

const start = (name: string) => startCommand(join(folder, `${name}.js`), [], { env });

describe.runIf(hasPostgres)("the application of docs/accounts.md", () => {
  beforeEach(async () => {
    await setUp();
    alerts.length = 0;
    webhook = await listen(async (req, res) => {
      alerts.push(((await json(req)) as { text: string }).text);
      res.end();
    });
    const port = await freePort();
    origin = `http://localhost:${port}`;
    const redirectUri = `${origin}/auth/retail-pos/callback`;
    sandbox = await startSandbox({ redirectUri });
    folder = join(root, "node_modules", ".accounts", String(port)); // there, so that the packages are found
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
    for (const { name, text } of programs)
      writeFileSync(join(folder, `${name}.js`), transformSync(`${name}.ts`, text).code);
    const { authUrl, baseUrl, application } = sandbox;
    env = {
      PORT: String(port),
      DATABASE_URL: url,
      PGOPTIONS: `-c search_path=${schema}`,
      SESSION_SECRET: "a secret of the tests, of 32 characters and more",
      TOKEN_KEYS: `2026-01:${randomBytes(32).toString("base64")}`,
      ALERT_URL: webhook.origin,
      RETAIL_POS_AUTH_URL: authUrl,
      RETAIL_POS_BASE_URL: baseUrl,
      RETAIL_POS_CLIENT_ID: application.clientId,
      RETAIL_POS_CLIENT_SECRET: application.clientSecret,
      RETAIL_POS_REDIRECT_URI: redirectUri,
    };
    app = start("app");
    await app.printed(/Open http/);
  });
  afterEach(async () => {
    app.child.kill("SIGKILL");
    await app.ended;
    await sandbox.close();
    await webhook.close();
    rmSync(folder, { recursive: true });
    await tearDown();
  });

  test("keeps tokens encrypted, and sessions through a restart, which SIGTERM begins", async () => {
    const ada = await logIn("ada");
    await connect(ada);
    const { rows } = await newPool().query(`SELECT * FROM ${schema}.retail_pos_tokens`);
    expect(rows).toMatchObject([{ domain_prefix: store, version: expect.stringMatching(/^sealed:/) }]);
    app.child.kill("SIGTERM");
    expect(await app.ended).toBe(0);
    app = start("app");
    await app.printed(/Open http/);
    expect((await open(ada, "/stores")).body).toContain(`${store}</a>: Connected`);
    expect((await open(ada, `/stores/${store}`)).body).toContain(espresso);
  });

  test("its job goes through all stores beside it, and of a refused one people are told once", async () => {
    const ada = await logIn("ada");
    await connect(ada);
    await connect(ada, "rosas-bikes");
    const first = start("job");
    expect(await first.ended).toBe(0);
    expect(first.output()).toMatch(/harbour-coffee: \d products/);

    sandbox.refuse(store);
    sandbox.expire(store);
    const second = start("job");
    expect(await second.ended).toBe(1);
    expect(second.output()).toMatch(/rosas-bikes: \d products/);
    expect((await open(ada, `/stores/${store}`)).status).toBe(401);
    expect((await open(ada, "/stores")).body).toContain(`${store}</a>: Your store has to be connected again`);
    expect(await start("job").ended).toBe(0);
    expect(alerts).toEqual([`The store ${store} has to be connected again`]);
  });

  test("its job, if it is told to end, saves the token that it is waiting for", async () => {
    const ada = await logIn("ada");
    await connect(ada);
    await connect(ada, "rosas-bikes");
    for (const connected of [store, "rosas-bikes"]) sandbox.expire(connected);
    const late = sandbox.fault("late");
    const job = start("job");
    await late.struck;
    job.child.kill("SIGTERM");
    late.release();
    expect(await job.ended).toBe(0);
    expect(job.output().match(/\d products/g)).toHaveLength(1);
    expect((await open(ada, `/stores/${store}`)).status).toBe(200);
  });

  test("a person connects stores and stays who they are; to a stranger a store does not exist", async () => {
    expect((await open(browser(), "/stores")).body).toContain("Log in first");
    const [ada, eve] = [await logIn("ada"), await logIn("eve")];
    await connect(ada);
    await connect(ada, "rosas-bikes");
    const { body } = await open(ada, "/stores");
    expect(body).toContain(`href="/stores/${store}"`);
    expect(body).toContain('href="/stores/rosas-bikes"');
    expect((await open(ada, `/stores/${store}`)).body).toContain(espresso);

    const before = sandbox.requests.length;
    expect(await open(eve, `/stores/${store}`)).toMatchObject({
      status: 404,
      body: expect.stringContaining("There is no such store"),
    });
    expect((await post(eve, `/stores/${store}/disconnect`)).status).toBe(404);
    expect((await open(eve, "/stores")).body).not.toContain(store);
    expect(sandbox.requests).toHaveLength(before);
  });

  test("a store of two people is forgotten when the second of them disconnects it", async () => {
    const [ada, bob] = [await logIn("ada"), await logIn("bob")];
    await connect(ada);
    await connect(bob);
    expect((await post(ada, `/stores/${store}/disconnect`)).location).toBe("/stores");
    expect((await open(ada, `/stores/${store}`)).status).toBe(404);
    expect((await open(bob, `/stores/${store}`)).body).toContain(espresso);
    await post(bob, `/stores/${store}/disconnect`);
    expect((await open(bob, `/stores/${store}`)).status).toBe(404);
  });

  test("who disconnects a store while they connect it leaves nothing behind", async () => {
    const database = await newPool().connect();
    await database.query(`
      SELECT pg_advisory_lock(1, 57);
      CREATE FUNCTION ${schema}.wait() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN PERFORM pg_advisory_xact_lock(1, 57); RETURN NEW; END';
      CREATE TRIGGER wait BEFORE INSERT ON ${schema}.retail_pos_tokens
        FOR EACH ROW EXECUTE FUNCTION ${schema}.wait();`);
    const rowsIn = async (table: string) => (await database.query(`SELECT FROM ${schema}.${table}`)).rowCount;
    const ada = await logIn("ada");
    const { location } = await open(ada, "/auth/retail-pos");
    const callback = ada.open(sandbox.consent(location, store));
    await expect.poll(() => rowsIn("members")).toBe(1); // its tokens wait for the lock
    expect((await post(ada, `/stores/${store}/disconnect`)).location).toBe("/stores");
    await database.query("SELECT pg_advisory_unlock(1, 57)");
    expect((await callback).location).toBe(`/stores/${store}`);
    expect([await rowsIn("members"), await rowsIn("retail_pos_tokens")]).toEqual([0, 0]);
    database.release();
  });

  test("a form of a sibling host disconnects nothing, although the browser sends its cookie along", async () => {
    const ada = await logIn("ada");
    await connect(ada);
    for (const site of ["same-site", "cross-site"]) {
      const init = { method: "POST", headers: { "sec-fetch-site": site } };
      expect((await ada.open(new URL(`/stores/${store}/disconnect`, origin), init)).status).toBe(403);
    }
    expect((await open(ada, `/stores/${store}`)).body).toContain(espresso);
  });

  test("a login that nobody began, at whatever address, goes to no account", async () => {
    const person = browser();
    const { location } = await open(person, "/auth/retail-pos/callback");
    const callback = sandbox.consent(location, store);
    await post(person, "/log-in/ada");
    expect((await person.open(callback)).status).toBe(403);
    expect((await open(person, "/stores")).body).not.toContain(store);

    const nobody = browser();
    const back = sandbox.consent((await open(nobody, "/auth/retail-pos/callback")).location, store);
    const answer = await nobody.open(back);
    expect(answer).toMatchObject({ status: 401, body: expect.stringContaining("Log in first") });
  });

  test("a callback that a proxy brings to the start's path connects the store as well", async () => {
    const ada = await logIn("ada");
    const { search } = sandbox.consent((await open(ada, "/auth/retail-pos")).location, store);
    expect((await open(ada, `/auth/retail-pos${search}`)).location).toBe(`/stores/${store}`);
  });

  test("behind a proxy that says nothing of https, the log says why nobody can log in", async () => {
    app.child.kill("SIGTERM");
    await app.ended;
    Object.assign(env, { RETAIL_POS_REDIRECT_URI: "https://shop.example/auth/retail-pos/callback" });
    app = start("app");
    await app.printed(/Open http/);
    const ada = browser();
    await post(ada, "/log-in/ada");
    expect((await open(ada, "/stores")).body).toContain("Log in first");
    await app.printed(/Express takes the request for http/);
  });

  test("a store goes to nobody but the person who began to connect it", async () => {
    const ada = await logIn("ada");
    const { location } = await open(ada, "/auth/retail-pos");
    expect((await post(ada, "/log-in/bob")).location).toBe("/stores"); // in the same browser
    const answer = await ada.open(sandbox.consent(location, store));
    expect(answer).toMatchObject({ status: 403, body: expect.stringContaining("/auth/retail-pos") });
    expect((await open(ada, "/stores")).body).not.toContain(store);
    expect(sandbox.tokenRequests()).toHaveLength(0);
  });

  test("Back after approving leads to the store; of a store that is not theirs people learn nothing", async () => {
    const [ada, eve] = [await logIn("ada"), await logIn("eve")];
    const callback = await connect(ada);
    expect((await ada.open(callback)).location).toBe(`/stores/${store}`);
    expect((await eve.open(callback)).body).toContain("We could not match this login");
    sandbox.refuse(store);
    sandbox.expire(store);
    expect((await open(ada, `/stores/${store}`)).status).toBe(401);
    expect((await ada.open(callback)).body).toContain("We could not match this login"); // else they go round
    expect(sandbox.tokenRequests().map(({ grantType }) => grantType)).toEqual([
      "authorization_code",
      "refresh_token",
    ]);
  });

  describe("a page says", () => {
    test.each([
      ["that the access was declined", "error=access_denied", 403, "You declined the access"],
      ["that the answer was damaged", "code=a&code=b&domain_prefix=shop&state=12345678", 400, "was damaged"],
    ])("%s", async (_case, query, status, words) => {
      const answer = await open(await logIn("ada"), `/auth/retail-pos/callback?${query}`);
      expect(answer.status).toBe(status);
      expect(answer.body).toContain(words);
      expect(answer.body).toContain('href="/auth/retail-pos"');
      await app.printed(/A store was not connected/);
    });

    test("that the service failed", async () => {
      const ada = await logIn("ada");
      const { location } = await open(ada, "/auth/retail-pos");
      const state = new URL(location).searchParams.get("state");
      const answer = await open(ada, `/auth/retail-pos/callback?error=server_error&state=${state}`);
      expect(answer.status).toBe(502);
      expect(answer.body).toContain("The service could not connect your store");
    });

    test("that the browser sent no cookie of this login back, and the log says what to look at", async () => {
      const answer = await open(
        browser(),
        "/auth/retail-pos/callback?code=a&domain_prefix=shop&state=12345678",
      );
      expect(answer.status).toBe(403);
      expect(answer.body).toContain("We could not match this login");
      await app.printed(/the cookie of this login did not come back/);
    });

    test("that the API is out of reach, with a way on", async () => {
      const ada = await logIn("ada");
      await connect(ada);
      await sandbox.close();
      const answer = await open(ada, `/stores/${store}`);
      expect(answer.status).toBe(503);
      expect(answer.body).toContain("We could not reach your store");
      expect(answer.body).toContain('<a href="/stores">Your stores</a>');
    });

    test("how long to wait, and at a login to begin anew", async () => {
      const ada = await logIn("ada");
      await connect(ada);
      sandbox.expire(store);
      sandbox.limit(store, 60_000);
      const answer = await open(ada, `/stores/${store}`);
      expect(answer.status).toBe(503);
      expect(answer.body).toMatch(/Wait \d+ seconds\. <a href="\/stores">/);
      const { location } = await open(ada, "/auth/retail-pos");
      const callback = await ada.open(sandbox.consent(location, store));
      expect(callback.status).toBe(503);
      expect(callback.body).toMatch(/Wait \d+ seconds\. <a href="\/auth\/retail-pos">/);
    });

    test.each([
      ["that it is out of order", 500, "We could not reach your store"],
      ["that it takes no more calls", 429, "One moment, please"],
    ] as const)("of the API's own answer %s", async (_case, kind, words) => {
      const ada = await logIn("ada");
      await connect(ada);
      sandbox.fault(kind, { endpoint: "api" });
      const answer = await open(ada, `/stores/${store}`);
      expect(answer.status).toBe(503);
      expect(answer.body).toContain(words);
    });

    test("that a text is no store", async () => {
      const answer = await open(await logIn("ada"), "/stores/%00");
      expect(answer.status).toBe(404);
      expect(answer.body).toContain("There is no such store");
    });

    test("that a store has to be connected again, and connecting it once more is all it needs", async () => {
      const ada = await logIn("ada");
      await connect(ada);
      sandbox.refuse(store);
      sandbox.expire(store);
      const answer = await open(ada, `/stores/${store}`);
      expect(answer.status).toBe(401);
      expect(answer.body).toContain('<a href="/auth/retail-pos">Connect a store</a>');
      await connect(ada);
      expect((await open(ada, `/stores/${store}`)).body).toContain(espresso);
    });
  });
});
