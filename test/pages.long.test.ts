import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { memoryLock, memoryStore, type RetailPosOptions } from "@retail-pos/core";
import { type Sandbox, startSandbox, type VirtualClock, virtualClock } from "@retail-pos/sandbox";
import session from "express-session";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { createApp as createCluster } from "../examples/express-cluster/src/app.js";
import { createApp as createExpress } from "../examples/express-login/src/app.js";
import { createApp as createFastify } from "../examples/fastify-login/src/app.js";
import { createApp as createHono } from "../examples/hono-login/src/app.js";
import { createApp as createNest } from "../examples/nest-login/src/app.js";
import { CHROMIUM_FLAGS, findChromium } from "./support/chromium.js";
import { faultsSeenOn } from "./support/look.js";

// Every page of the examples, as somebody comes to it. The examples share looks and words (see example-copies.test.ts),
// so the first shows all pages, and the others those that they put together themselves.

const executablePath = findChromium();
const store = "harbour-coffee";
/** As long as a name may be. */
const longest = "the-store-with-the-longest-name-that-one-label-of-dns-may-have";
const CALLBACK = "/auth/retail-pos/callback";

interface Site {
  readonly origin: string;
  readonly sandbox: Sandbox;
  readonly clock: VirtualClock;
  /** Which stores `acceptRetailer` lets in. */
  accept: (domainPrefix: string) => boolean;
  close(): Promise<void>;
}

type Story = (page: Page, site: Site) => unknown;

const back =
  (query: string): Story =>
  (page, { origin }) =>
    page.goto(`${origin}${CALLBACK}?${query}`);

const loggedIn =
  (then?: Story, as = store): Story =>
  async (page, site) => {
    await logIn(page, site, as);
    await then?.(page, site);
  };

const at =
  (path: string): Story =>
  (page, { origin }) =>
    page.goto(origin + path);

/** The token has expired, and something stands in the way of the next one. */
const withoutToken = (trouble: (sandbox: Sandbox) => unknown): Story =>
  loggedIn(async (page, { sandbox, clock }) => {
    clock.advance(601_000);
    trouble(sandbox);
    await page.reload();
  });

const CALLBACKS: Record<string, [heading: string, story: Story]> = {
  "a declined login": ["You declined the access", back("error=access_denied")],
  "a login without a state": ["This login did not start here", back("code=c&domain_prefix=shop")],
  "a login of another browser": [
    "We could not match this login",
    back("code=c&domain_prefix=shop&state=another"),
  ],
  "a login as no store": [
    "That is not a store we can talk to",
    back("code=c&domain_prefix=no%2Fstore&state=12345678"),
  ],
  "a damaged answer": [
    "The answer of the service was damaged",
    back("code=a&code=b&domain_prefix=shop&state=12345678"),
  ],
  "a login that took too long": [
    "This login took too long",
    async (page, { origin, clock }) => {
      await page.goto(`${origin}/auth/retail-pos`);
      clock.advance(16 * 60_000);
      await approve(page, store);
    },
  ],
  "a code that is too old": [
    "The service did not take this login",
    async (page, { origin, clock, sandbox }) => {
      await page.goto(`${origin}/auth/retail-pos`);
      const callback = sandbox.consent(page.url(), store);
      clock.advance(11 * 60_000);
      await page.goto(callback.href);
    },
  ],
  "a store that is not accepted": [
    "This store cannot log in here",
    async (page, site) => {
      site.accept = () => false;
      await logIn(page, site);
      site.accept = () => true;
    },
  ],
  "a login that the service limits": [
    "One moment, please",
    async (page, site) => {
      site.sandbox.limit(store, 600_000);
      await logIn(page, site);
    },
  ],
  "a login that the service fails": [
    "We could not reach your store",
    async (page, site) => {
      site.sandbox.fault(500);
      await logIn(page, site);
    },
  ],
  "a login that the service ends with an error": [
    "The service could not log you in",
    async (page, { origin }) => {
      await page.goto(`${origin}/auth/retail-pos`);
      const state = new URL(page.url()).searchParams.get("state");
      await page.goto(`${origin}${CALLBACK}?error=server_error&state=${state}`);
    },
  ],
  "a decline by somebody who is logged in": [
    "You declined the access",
    loggedIn(back("error=access_denied"), longest),
  ],
};

const PAGES: Record<string, [heading: string, story: Story]> = {
  "the first page": ["Everything on your shelves, on one page.", at("/")],
  "the page of a store": ["Harbour Coffee Roasters", loggedIn()],
  "the page of a store with a long name": ["The Store with the Longest Name", loggedIn(undefined, longest)],
  "the question before a store is disconnected": [
    `Disconnect ${longest}?`,
    loggedIn(at("/disconnect"), longest),
  ],
  "an address that does not exist": ["There is no such page", at("/no/such/page")],
  "an address that does not exist, for somebody who is logged in": [
    "There is no such page",
    loggedIn(at("/no/such/page")),
  ],
  "a store that has to log in again": [
    "Your store has to be connected again",
    withoutToken((sandbox) => sandbox.refuse(store)),
  ],
  "a store that the service limits": [
    "One moment, please",
    withoutToken((sandbox) => sandbox.limit(store, 600_000)),
  ],
  "a store that the service fails": [
    "We could not reach your store",
    withoutToken((sandbox) => sandbox.fault(500)),
  ],
};

const SITES: { name: string; make: Make; pages: Record<string, [string, Story]> }[] = [
  { name: "express-login", make: createExpress, pages: { ...PAGES, ...CALLBACKS } },
  {
    name: "hono-login",
    make: (settings, more) => getRequestListener(createHono(settings, more).fetch),
    pages: { ...PAGES, ...named(["a declined login", "a login that the service limits"]) },
  },
  {
    name: "fastify-login",
    make: async (settings, more) => {
      const app = createFastify(settings, more);
      await app.ready();
      return app.routing;
    },
    pages: named(["the page of a store", "the question before a store is disconnected", "a declined login"]),
  },
  {
    name: "nest-login",
    make: async (settings, more) => {
      const app = await createNest(settings, more);
      await app.init();
      return app.getHttpAdapter().getInstance();
    },
    pages: named([
      "the page of a store",
      "the question before a store is disconnected",
      "a declined login",
      "a login that the service ends with an error",
    ]),
  },
  {
    name: "express-cluster",
    make: (settings, more) => {
      const tokens = { store: memoryStore(), lock: memoryLock() };
      const shared = { tokens, sessions: new session.MemoryStore(), close: async () => {} };
      return createCluster(
        {
          ...settings,
          engine: "redis",
          engineUrl: "",
          namespace: "",
          workers: 1,
          sandboxUrl: settings.authUrl,
        },
        shared,
        more,
      );
    },
    pages: {
      ...named(["the first page", "the page of a store", "an address that does not exist"]),
      "forty calls at once": [
        "Harbour Coffee Roasters",
        loggedIn(async (page) => {
          await page.getByRole("button", { name: "Call 40 times at once" }).click();
          await page.locator(".figures").waitFor();
        }),
      ],
    },
  },
];

describe.skipIf(!executablePath).each(SITES)("$name", ({ make, pages }) => {
  let browser: Browser;
  let site: Site;

  beforeAll(async () => {
    for (const level of ["warn", "error"] as const) vi.spyOn(console, level).mockImplementation(() => {});
    browser = await chromium.launch({ executablePath: executablePath as string, args: CHROMIUM_FLAGS });
    site = await start(make);
  });
  afterAll(async () => {
    await browser?.close();
    await site?.close();
    vi.restoreAllMocks();
  });

  test.each(Object.entries(pages))("%s is for everybody, at every width", async (_name, [heading, story]) => {
    const person = await browser.newContext();
    const page = await person.newPage();
    const problems: string[] = [];
    page.on("pageerror", (error) => problems.push(String(error)));
    page.on("console", (message) => {
      if (message.text().includes("Content Security Policy")) problems.push(message.text());
    });
    await story(page, site);
    await page.getByRole("heading", { level: 1, name: heading }).waitFor({ timeout: 5000 });
    expect([...problems, ...(await faultsSeenOn(page))]).toEqual([]);
    await person.close();
    site.sandbox.clearFaults();
    site.clock.advance(700_000); // whatever was limited is so no more
  });
});

test.skipIf(!executablePath)("what is too wide, or hard to read, would be noticed", async () => {
  const browser = await chromium.launch({ executablePath: executablePath as string, args: CHROMIUM_FLAGS });
  const page = await browser.newPage();
  await page.setContent('<p style="width: 400px; color: #999; background: #aaa">Hard to read</p>');
  const faults = (await faultsSeenOn(page)).join("\n");
  expect(faults).toContain("320 px, light: scrolls sideways");
  expect(faults).not.toContain("1280 px, light: scrolls sideways");
  expect(faults).toContain("1280 px, dark: color-contrast");
  await browser.close();
});

type Settings = Sandbox["application"] &
  Pick<Sandbox, "authUrl" | "baseUrl"> & {
    port: number;
    sessionSecret: string;
    databaseFile: string;
    host: string;
    trustProxy: number;
  };
type Make = (
  settings: Settings,
  more: Pick<RetailPosOptions, "clock" | "cacheMs" | "acceptRetailer">,
) => RequestListener | Promise<RequestListener>;

/** Some of the pages, by their names. */
function named(names: readonly string[]): Record<string, [string, Story]> {
  return Object.fromEntries(
    Object.entries({ ...PAGES, ...CALLBACKS }).filter(([name]) => names.includes(name)),
  );
}

async function start(make: Make): Promise<Site> {
  const clock = virtualClock();
  let app: RequestListener = () => {};
  const server: Server = createServer((req, res) => app(req, res));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const origin = `http://localhost:${port}`;
  const sandbox = await startSandbox({
    clock,
    redirectUri: origin + CALLBACK,
    lifetimeMs: 600_000,
    stores: [
      { domainPrefix: store, name: "Harbour Coffee Roasters" },
      { domainPrefix: longest, name: "The Store with the Longest Name that One Label of DNS May Have" },
    ],
  });
  const { authUrl, baseUrl, application } = sandbox;
  const site: Site = {
    origin,
    sandbox,
    clock,
    accept: () => true,
    async close() {
      server.closeAllConnections();
      server.close();
      await sandbox.close();
    },
  };
  const sessionSecret = "for the tests, and for nothing else";
  app = await make(
    { ...application, authUrl, baseUrl, port, sessionSecret, databaseFile: "", host: "", trustProxy: 0 },
    { clock, cacheMs: 0, acceptRetailer: (domainPrefix) => site.accept(domainPrefix) },
  );
  return site;
}

async function logIn(page: Page, { origin }: Site, as = store): Promise<void> {
  await page.goto(`${origin}/auth/retail-pos`);
  await approve(page, as);
  await page.waitForURL(`${origin}/**`);
}

async function approve(page: Page, domainPrefix: string): Promise<void> {
  await page.locator(`input[value="${domainPrefix}"]`).check({ force: true });
  await page.getByRole("button", { name: "Approve" }).click();
}
