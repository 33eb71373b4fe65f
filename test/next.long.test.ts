import { mkdtempSync, readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { retailPos } from "@retail-pos/core";
import { type Sandbox, startSandbox } from "@retail-pos/sandbox";
import { redisTokens } from "@retail-pos/store-redis";
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
import { startServer } from "../packages/store-redis/testing/server.js";
import { packAll } from "../scripts/pack.mjs";
import { CHROMIUM_FLAGS, findChromium } from "./support/chromium.js";
import { programsIn } from "./support/docs/documents.js";
import { filesIn } from "./support/files.js";
import { freePort } from "./support/listen.js";
import { type NextApplication, nextApplication } from "./support/next/application.js";
import { install } from "./support/packed/install.js";
import { root } from "./support/sources.js";

// Real Next.js applications, installed, built and started: its caches answer no token request and keep no token, and
// examples/frameworks/nextjs, which docs/frameworks/nextjs.md shows, runs.

const store = "harbour-coffee";
const patience = 600_000; // a build takes half a minute if the machine has nothing else to do

vi.setConfig({ testTimeout: patience });

const redis = await startServer();
if (!redis) throw new Error("there is no redis-server");
const folder = mkdtempSync(join(tmpdir(), "retail-pos-next-"));
let tarballs: Map<string, string>;
let person: Browser;
let sandbox: Sandbox;
let port: number;

beforeAll(async () => {
  tarballs = await packAll(folder);
  person = await chromium.launch({ executablePath: findChromium() as string, args: CHROMIUM_FLAGS });
}, patience);
afterAll(async () => {
  await person?.close();
  await redis.close();
  await rm(folder, { recursive: true, force: true });
}, patience);

/** The example, and pages of this test's own; each of those calls the API once. */
const example = textsIn("examples/frameworks/nextjs");
/** What the page adds below the example: a log-out, and a page for what failed. */
const additions = programsIn("docs/frameworks/nextjs.md", "test/next.long.test.ts");
const pages = new Map([...textsIn("test/support/next")].filter(([file]) => file.startsWith("app/")));

/**
 * Leaves out what half of a build goes into and no test of the caches looks at: smaller code, and lists of the files
 * that a container needs. Types are looked at where the document's program is built.
 */
const webpack =
  "webpack(config, { dev }) { if (!dev) { config.optimization.minimize = config.cache = false; } return config; }";
const versions = [
  { version: 14, react: 18, config: `outputFileTracing: false, ${webpack}` },
  { version: 15, react: 19, config: `outputFileTracingExcludes: { "**": ["**/*"] }, ${webpack}` },
  { version: 16, react: 19, config: "experimental: { turbopackMinify: false, turbopackSourceMaps: false }" },
];

beforeAll(async () => {
  for (const { version, react } of versions)
    await install(join(folder, `${version}`), dependenciesOf(version, react));
}, patience);

describe.each(versions)(
  "Next $version answers no token request from a cache, and keeps none,",
  ({ version, config }) => {
    let app: NextApplication;
    let endStart: () => Promise<void>;

    beforeAll(async () => {
      await startService();
      await connect();
      const settingsOfNext = `export default { typescript: { ignoreBuildErrors: true }, ${config} };`;
      const libraries = [...example].filter(([file]) => file.startsWith("lib/"));
      const files = new Map([...pages, ...libraries, ["next.config.mjs", settingsOfNext]]);
      app = nextApplication(join(folder, `${version}`, "pages"), files);
      sandbox.expire(store);
      await app.build(settings());
      await app.serve("start", settings(), (end) => {
        endStart = end;
      });
    }, patience);
    afterAll(async () => {
      await endStart?.();
      await sandbox?.close();
    });
    afterEach(() => {
      for (const kind of ["access", "refresh"]) expect(app.madeFilesWith(`sandbox_${kind}_`)).toEqual([]);
    });

    test("of pages that next build makes", async () => {
      expect(renewals()).toBe(1);
      expect(callIn(await textAt("/built"))).toMatchObject({ status: "200" });
    });

    test.each([
      ["calls the API before it says that requests differ", "/search"],
      ["asks for data to be kept", "/default-cache"],
      ["forces data to be kept", "/forced-cache"],
    ])("of a page that %s", async (_what, path) => {
      await textAt(path);
      for (let already = renewals(), round = 1; round <= 3; round += 1) {
        sandbox.expire(store);
        expect(callIn(await textAt(path))).toMatchObject({ status: "200" });
        expect(renewals()).toBe(already + round);
      }
    });

    test("of a page that is made anew every second", async () => {
      await endStart(); // for a process that has not seen ten tokens rejected already
      await app.serve("start", settings());
      const statuses = new Map<string, string>(); // by the page's call
      const visit = async () => {
        const { id, status } = callIn(await textAt("/revalidated"));
        statuses.set(id, status);
        return id;
      };
      for (let already = renewals(), round = 1; round <= 3; round += 1) {
        sandbox.expire(store);
        await expect.poll(() => visit().then(renewals), { timeout: 60_000 }).toBe(already + round);
        const before = new Set(statuses.keys());
        await expect.poll(async () => before.has(await visit()), { timeout: 60_000 }).toBe(false);
      }
      expect([...new Set(statuses.values())]).toEqual(["200"]);
    });

    test("of a page that is edited while next dev shows it", async () => {
      await endStart();
      await app.serve("dev", settings());
      const page = await newPage();
      const listening = page.waitForEvent("websocket"); // an edit before it is not heard of
      await page.goto(at("/search"));
      await listening;
      const file = "app/search/page.tsx";
      for (let already = renewals(), round = 1; round <= 3; round += 1) {
        sandbox.expire(store);
        const edited = String(pages.get(file)).replace("You searched for", `Edit ${round} for`);
        const seen = page.getByText(`Edit ${round} for`);
        // `next dev` under load may miss an edit: then the file is saved once more.
        for (let save = 1; save === 1 || (save < 6 && !(await seen.isVisible())); save += 1) {
          app.write(file, `${edited}// Saved ${save} times.\n`);
          await seen.waitFor({ timeout: 20_000 }).catch(() => {});
        }
        await seen.waitFor();
        expect(callIn(await page.getByRole("main").innerHTML())).toMatchObject({ status: "200" });
        expect(renewals()).toBe(already + round);
      }
    });

    test("although it keeps the API's own answers, which the same search through its files finds", () => {
      expect(app.madeFilesWith("House espresso")).not.toEqual([]);
    });
  },
);

describe("examples/frameworks/nextjs, with cacheComponents,", () => {
  let app: NextApplication;

  beforeAll(async () => {
    app = nextApplication(join(folder, "16", "example"), example);
    await app.build({}); // as in an image: the settings come later
  }, patience);
  beforeEach(startService);
  afterEach(() => sandbox.close());

  test("leads to the login, shows what the API says, sells, and goes on when the token has ended", async () => {
    await app.serve("start", settings());
    const page = await newPage();
    await page.goto(at("/products"));
    await approve(page);
    await page.getByText("Sales: 0").waitFor();
    sandbox.expire(store);
    await page.getByRole("button", { name: "Sell House espresso, 250 g" }).click();
    await page.getByText("Sales: 1").waitFor();
    expect(renewals()).toBe(1);

    sandbox.fault(404, { endpoint: "api" });
    await page.reload();
    await page.getByText("The API answered 404").waitFor();
  });

  test("leads to the login if only a login helps, from the page and from the action", async () => {
    await app.serve("start", settings());
    const page = await newPage();
    await page.goto(at("/products"));
    await approve(page);
    await page.getByText("Sales: 0").waitFor();
    for (const again of [() => page.reload(), () => page.getByRole("button").first().click()]) {
      sandbox.refuse(store);
      sandbox.expire(store);
      await again();
      await approve(page);
      await page.getByText("Sales: 0").waitFor();
    }
  });

  test("finishes in one process a login that started in another; each has one client", async () => {
    await app.serve("start", settings());
    const second = String(await freePort());
    await app.serve("start", { ...settings(), PORT: second });
    const page = await newPage();
    await page.goto(`http://localhost:${second}/auth/retail-pos`);
    await approve(page);
    await page.getByText("Sales: 0").waitFor();
    await page.goto(`http://localhost:${second}/products`);
    await page.getByText("Sales: 0").waitFor();
    expect(
      String(await redis.admin.client("LIST"))
        .trim()
        .split("\n"),
    ).toHaveLength(3); // and the test's own
  });

  test("saves a renewal that is under way when it is stopped, although its browser has left", async () => {
    const { stop } = await app.serve("start", settings());
    const page = await newPage();
    await page.goto(at("/products"));
    await approve(page);
    await page.getByText("Sales: 0").waitFor();
    sandbox.expire(store);
    const late = sandbox.fault("late", { domainPrefix: store });
    page.reload().catch(() => {});
    await late.struck;
    await page.close();
    const stopped = stop();
    await sleep(300);
    late.release();
    await stopped;

    sandbox.expire(store); // what was saved renews it, or nothing does
    const { authUrl, baseUrl, application } = sandbox;
    const client = retailPos({ authUrl, baseUrl, ...application, ...tokens() });
    expect((await client.retailer(store).fetch("api/products")).status).toBe(200);
  });

  test("says which setting is missing, and shows no secret", async () => {
    const { output } = await app.serve("start", { ...settings(), REDIS_URL: "" });
    expect((await fetch(at("/auth/retail-pos"))).status).toBe(500);
    await expect.poll(output).toContain("REDIS_URL: none was given");
    expect(output()).not.toContain("secret of the tests");
  });
});

describe("docs/frameworks/nextjs.md, with a log-out and a page for what failed,", () => {
  let app: NextApplication;

  beforeAll(async () => {
    const files = new Map([...example, ...[...additions].filter(([name]) => name.includes("/"))]);
    const replace = (file: string, from: string, to: string) => {
      expect(files.get(file)).toContain(from);
      files.set(file, String(files.get(file)).replace(from, to));
    };
    const client = "lib/retail-pos.ts";
    replace(
      client,
      'from "./session";',
      'from "./session";\nimport { failedPage, onFailure } from "./failed";',
    );
    replace(client, "client, onLogin }", "client, onLogin, onFailure }");
    const caught = /(?<=catch \(error\) \{\n)[^}]+/.exec(String(files.get(client)))?.[0] ?? "";
    replace(client, caught, String(additions.get("callApi")));
    const loading = "app/products/loading.tsx";
    files.set("app/loading.tsx", String(files.get(loading)));
    const home =
      'import Link from "next/link";\nexport default () => <Link href="/products">Products</Link>;\n';
    files.set("app/page.tsx", home);
    app = nextApplication(join(folder, "16", "example"), files); // what Next kept of the build before is used
    app.remove(loading);
    await app.build({});
  }, patience);
  beforeEach(startService);
  afterEach(() => sandbox.close());

  test("tells what failed, with a way on, and sends on who comes back logged in", async () => {
    await app.serve("start", settings());
    const page = await newPage();
    await page.goto(at("/auth/retail-pos/callback?error=access_denied"));
    await page.getByText("You declined the access").waitFor();
    await page.getByRole("link", { name: "Log in with store" }).click();
    await approve(page);
    await page.getByText("Sales: 0").waitFor();
    await page.goto(at(`/auth/retail-pos/callback?code=a&domain_prefix=${store}&state=12345678`));
    await page.getByText("Sales: 0").waitFor();
    await page.goto(at("/auth/retail-pos/callback?code=a&domain_prefix=shop&state=12345678"));
    await page.getByText("We could not match this login").waitFor(); // another store's

    sandbox.expire(store);
    sandbox.limit(store, 120_000);
    await page.goto(at("/products"));
    await page.getByText("One moment, please").waitFor();
    await page.getByText(/Minutes to wait: \d/).waitFor();
    sandbox.clearFaults();
    await page.getByRole("link", { name: "Try again" }).click();
    await page.getByText("One moment, please").waitFor(); // core keeps to what the 429 said
  });

  test("tells that the API is out of reach", async () => {
    await app.serve("start", settings());
    const page = await newPage();
    await page.goto(at("/products"));
    await approve(page);
    await page.getByText("Sales: 0").waitFor();
    sandbox.fault("reset", { endpoint: "api", times: Number.POSITIVE_INFINITY });
    await page.reload();
    await page.getByText("We could not reach your store").waitFor();
    sandbox.clearFaults();
    await page.goto(at("/products"));
    await page.getByText("Sales: 0").waitFor();
    sandbox.fault("reset-after", { endpoint: "api" });
    await page.getByRole("button").first().click();
    await page.getByText("server error occurred").waitFor(); // and not that nothing was lost: the sale was made
    await page.goto(at("/products"));
    await page.getByText("Sales: 1").waitFor();
    sandbox.fault("reset", { endpoint: "api", times: Number.POSITIVE_INFINITY });
    await page.reload();
    await page.getByText("We could not reach your store").waitFor();
    sandbox.clearFaults();
    await page.getByRole("link", { name: "Try again" }).click();
    await page.getByText("Sales: 1").waitFor();
  });

  test("logs out; then a home page with a Link to the products starts no login, and an action leads to one", async () => {
    await app.serve("start", settings());
    const page = await newPage();
    await page.goto(at("/products"));
    await approve(page);
    await page.getByText("Sales: 0").waitFor();

    await page.context().clearCookies();
    await page.getByRole("button").first().click();
    await approve(page);
    await page.getByText("Sales: 0").waitFor();

    const form = '<form method="post" action="/log-out"><button>Log out</button></form>';
    await page.evaluate(`document.body.innerHTML = '${form}'`);
    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByRole("link", { name: "Products" }).waitFor();
    await page.waitForLoadState("networkidle");
    expect(await page.context().cookies(at("/"))).toEqual([]);
    await page.goto(at("/products"));
    await approve(page);
    await page.getByText("Sales: 0").waitFor();
  });
});

async function approve(page: Page): Promise<void> {
  await page.locator(`input[value="${store}"]`).check({ force: true });
  await page.getByRole("button", { name: "Approve" }).click();
}

async function textAt(path: string): Promise<string> {
  return (await fetch(at(path))).text();
}

/** The API call that a page has made. */
function callIn(page: string): { id: string; status: string } {
  const [, id = "", status = page.slice(0, 300)] = /Call ([\da-f-]{36}) was answered (\d+)/.exec(page) ?? [];
  return { id, status };
}

async function newPage(): Promise<Page> {
  const context = await person.newContext();
  onTestFinished(() => context.close());
  context.setDefaultTimeout(120_000); // `next dev` builds while it is waited for
  return context.newPage();
}

function renewals(): number {
  return sandbox.tokenRequests(store).filter(({ grantType }) => grantType === "refresh_token").length;
}

async function startService(): Promise<void> {
  await redis?.admin.flushall();
  port = await freePort();
  // Every other renewal is the same request as the one before it, and every other brings a refresh token.
  const redirectUri = at("/auth/retail-pos/callback");
  sandbox = await startSandbox({ rotation: "sometimes", redirectUri });
}

async function connect(): Promise<void> {
  const { baseUrl, application } = sandbox;
  const client = retailPos({ authUrl: sandbox.authUrl, baseUrl, ...application, ...tokens() });
  await client.connect(await client.exchange(store, String(sandbox.approve(store).searchParams.get("code"))));
}

function tokens() {
  if (!redis) throw new Error("there is no redis-server");
  return redisTokens({ client: redis.admin });
}

function settings() {
  return {
    PORT: String(port),
    REDIS_URL: String(redis?.url),
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

function dependenciesOf(version: number, react: number): Record<string, string> {
  const { dependencies, devDependencies } = JSON.parse(example.get("package.json") ?? "");
  const names = Object.keys(dependencies).filter((name) => tarballs.has(name));
  return {
    ...{ ...dependencies, ...devDependencies },
    ...(version < 16 && { next: `^${version}`, react: `^${react}`, "react-dom": `^${react}` }),
    ...(version < 16 && { "@types/react": `^${react}` }),
    ...Object.fromEntries(names.map((name) => [name, `file:${tarballs.get(name)}`])),
  };
}

/** The files of a folder, by their paths in it. */
function textsIn(path: string): Map<string, string> {
  const files = filesIn(path).map((file) => [
    file.slice(path.length + 1),
    readFileSync(join(root, file), "utf8"),
  ]);
  return new Map(files as [string, string][]);
}
