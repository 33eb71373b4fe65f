import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { type Sandbox, startSandbox, type VirtualClock, virtualClock } from "@retail-pos/sandbox";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { createApp } from "../examples/express-login/src/app.js";
import { CHROMIUM_FLAGS, findChromium } from "./support/chromium.js";
import { faultsSeenOn } from "./support/look.js";

// Every page of express-login, as somebody comes to it.

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

const PAGES: Record<string, [heading: string, story: Story]> = {
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
    "This store cannot be connected here",
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
    "The service could not connect your store",
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
  "the first page": ["Everything on your shelves, on one page.", at("/")],
  "the page of a store": ["On your shelves", loggedIn()],
  "the page of a store with a long name": ["On your shelves", loggedIn(undefined, longest)],
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

describe.skipIf(!executablePath)("express-login", () => {
  let browser: Browser;
  let site: Site;

  beforeAll(async () => {
    for (const level of ["warn", "error"] as const) vi.spyOn(console, level).mockImplementation(() => {});
    browser = await chromium.launch({ executablePath: executablePath as string, args: CHROMIUM_FLAGS });
    site = await start();
  });
  afterAll(async () => {
    await browser?.close();
    await site?.close();
    vi.restoreAllMocks();
  });

  test.each(Object.entries(PAGES))("%s is for everybody, at every width", async (_name, [heading, story]) => {
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
  await page.setContent(
    '<p style="width: 400px; color: #999; background: #aaa">Hard to read</p><img src="data:,">',
  );
  const faults = (await faultsSeenOn(page)).join("\n");
  expect(faults).toContain("320 px, light: scrolls sideways");
  expect(faults).not.toContain("1280 px, light: scrolls sideways");
  for (const width of [320, 390, 1280])
    for (const scheme of ["light", "dark"])
      expect(faults).toContain(`${width} px, ${scheme}: color-contrast`);
  for (const look of ["320 px, light", "390 px, light", "1280 px, light", "320 px, dark"])
    expect(faults).toContain(`${look}: image-alt: <img src="data:,">`);
  await browser.close();
});

async function start(): Promise<Site> {
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
  app = createApp(
    { service: { ...application, authUrl, baseUrl }, SESSION_SECRET: "for the tests" },
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
