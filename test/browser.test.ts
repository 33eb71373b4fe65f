import { mkdtempSync, rmSync } from "node:fs";
import type { RequestListener } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseDomainPrefix } from "@retail-pos/core";
import { startSandbox } from "@retail-pos/sandbox";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { createApp } from "../examples/express-login/src/app.js";
import { openStore } from "../examples/express-login/src/store.js";
import { browser as simpleBrowser } from "./support/browser.js";
import { CHROMIUM_FLAGS, findChromium } from "./support/chromium.js";
import { listen } from "./support/listen.js";
import { type Shop, startShop } from "./support/shop.js";
import { combinations } from "./support/sites.js";
import { SUBDOMAINS, startOnSubdomain } from "./support/subdomains.js";

const executablePath = findChromium();
const store = "harbour-coffee";

describe.skipIf(!executablePath)("a person with a browser", () => {
  let browser: Browser;
  let person: BrowserContext;
  let shop: Shop;

  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: executablePath as string, args: CHROMIUM_FLAGS });
  });
  afterAll(() => browser?.close());
  beforeEach(async () => {
    shop = await startShop({ lifetimeMs: 600_000 });
    person = await browser.newContext();
  });
  afterEach(async () => {
    await person.close();
    await shop.close();
  });

  test("logs in with a store, sees its products, and goes on seeing them after the token expired", async () => {
    const page = await person.newPage();
    await page.goto(shop.app.origin);
    await page.getByRole("link", { name: "Log in with store" }).click();
    await approve(page, store);
    await page.waitForURL("**/products");
    expect(await productsOn(page)).toContain("House espresso, 250 g");
    expect(shop.sandbox.tokenRequests(store)).toHaveLength(1);

    shop.clock.advance(601_000);
    await page.reload();
    expect(await productsOn(page)).toContain("House espresso, 250 g");
    expect(shop.sandbox.tokenRequests(store)).toHaveLength(2);

    shop.sandbox.expire(store); // the client believes the token alive
    await page.reload();
    expect(await productsOn(page)).toContain("House espresso, 250 g");
    expect(shop.sandbox.tokenRequests(store)).toHaveLength(3);
  });

  test("declines, is told so, and can log in afterwards", async () => {
    const page = await person.newPage();
    await page.goto(`${shop.app.origin}/auth/retail-pos`);
    await page.getByRole("button", { name: "Decline" }).click();
    await page.getByRole("heading", { name: "You declined the access" }).waitFor();
    expect(shop.sandbox.tokenRequests()).toHaveLength(0);

    await page.getByRole("link", { name: "Log in with store" }).click();
    await approve(page, store);
    await page.waitForURL("**/products");
  });

  test("logs in with two tabs at once, whichever is approved first", async () => {
    const [one, two] = [await person.newPage(), await person.newPage()];
    await one.goto(`${shop.app.origin}/auth/retail-pos`);
    await two.goto(`${shop.app.origin}/auth/retail-pos`);

    await approve(two, "second-chapter");
    await two.waitForURL("**/products");
    await approve(one, store);
    await one.waitForURL("**/products");

    expect(await storeOn(one)).toBe(store);
    expect(shop.sandbox.tokenRequests("second-chapter")).toHaveLength(1);
    expect(shop.sandbox.tokenRequests(store)).toHaveLength(1);
  });

  test("presses Back, approves again, and is sent on to the store without logging in twice", async () => {
    const page = await person.newPage();
    await page.goto(`${shop.app.origin}/auth/retail-pos`);
    const callback = page.waitForRequest((request) => request.url().includes("/callback?"));
    await approve(page, store);
    await page.waitForURL("**/products");

    await page.goBack();
    await approve(page, store);
    await page.waitForURL("**/products");
    expect(await productsOn(page)).toContain("House espresso, 250 g");
    await page.goto((await callback).url());
    await page.waitForURL("**/products");
    expect(shop.sandbox.tokenRequests(store)).toHaveLength(1);
  });

  test("is asked to log in again when the service refuses the refresh token, and then sees the products", async () => {
    const page = await person.newPage();
    await page.goto(`${shop.app.origin}/auth/retail-pos`);
    await approve(page, store);
    await page.waitForURL("**/products");

    shop.sandbox.refuse(store);
    shop.clock.advance(601_000);
    await page.reload();
    await page.getByRole("link", { name: "Log in with store" }).click();
    await approve(page, store);
    await page.waitForURL("**/products");
    expect(await productsOn(page)).toContain("House espresso, 250 g");
  });

  test("reloads after the application was restarted, and sees the products without another consent", async () => {
    const kept = await startKeptShop();
    const page = await person.newPage();
    await page.goto(kept.origin);
    await page.getByRole("link", { name: "Log in with store" }).click();
    await approve(page, store);
    await page.waitForURL("**/products");
    await kept.restart();
    await page.reload();
    expect(await productsOn(page)).toContain("House espresso, 250 g");
    expect(kept.sandbox.tokenRequests()).toHaveLength(1);
  });

  test("finds the way back from an address that does not exist", async () => {
    const page = await person.newPage();
    await page.goto(`${shop.app.origin}/no/such/page`);
    await page.getByRole("heading", { name: "There is no such page" }).waitFor();
    await page.getByRole("link", { name: "Go to the start" }).click();
    await page.getByRole("link", { name: "Log in with store" }).waitFor();
  });

  test("waits while the service is rate limited, and then logs in by the same button", async () => {
    const page = await person.newPage();
    await page.clock.install({ time: shop.clock() });
    await page.goto(`${shop.app.origin}/auth/retail-pos`);
    shop.sandbox.limit(store, 600_000);
    await approve(page, store);
    await page.getByRole("heading", { name: "One moment, please" }).waitFor();
    const button = page.getByRole("link", { name: "Log in with store" });
    await expect.poll(() => button.getAttribute("aria-disabled")).toBe("true"); // its script comes after the page
    expect(await page.locator("time").textContent()).not.toContain("UTC");

    shop.clock.advance(602_000);
    await page.clock.fastForward(602_000);
    await page.getByRole("status").getByText("You can go on now").waitFor({ state: "attached" });
    await button.click();
    await approve(page, store);
    await page.waitForURL("**/products");
    expect(await productsOn(page)).toContain("House espresso, 250 g");
  });

  test("can follow the button of a page that asks to wait, also where no script runs", async () => {
    const without = await browser.newContext({ javaScriptEnabled: false });
    const page = await without.newPage();
    await page.goto(`${shop.app.origin}/auth/retail-pos`);
    shop.sandbox.limit(store, 600_000);
    await approve(page, store);
    await page.getByRole("heading", { name: "One moment, please" }).waitFor();
    expect(await page.locator("time").textContent()).toMatch(/^\d\d:\d\d UTC$/);
    shop.clock.advance(602_000);
    await page.getByRole("link", { name: "Log in with store" }).click();
    await approve(page, store);
    await page.waitForURL("**/products");
    await without.close();
  });

  test("reads when to go on by the clock where the browser is", async () => {
    const elsewhere = await browser.newContext({ timezoneId: "Asia/Tokyo", locale: "de-DE" });
    const page = await elsewhere.newPage();
    await page.goto(`${shop.app.origin}/auth/retail-pos`);
    shop.sandbox.limit(store, 600_000);
    await approve(page, store);
    const time = page.locator("time");
    const at = new Date((await time.getAttribute("datetime")) ?? "");
    const there = at.toLocaleTimeString("de-DE", { timeZone: "Asia/Tokyo", timeStyle: "short" });
    await expect.poll(() => time.textContent()).toBe(there);
    await elsewhere.close();
  });

  test("logs out, and disconnects the store, which asks first", async () => {
    const page = await person.newPage();
    await page.goto(`${shop.app.origin}/auth/retail-pos`);
    await approve(page, store);
    await page.waitForURL("**/products");
    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByRole("link", { name: "Log in with store" }).click();
    await approve(page, store);
    await page.waitForURL("**/products");
    const stored = () => shop.store.load(parseDomainPrefix(store));
    expect(await stored()).toMatchObject({ domainPrefix: store });
    await page.getByRole("link", { name: "Disconnect" }).click();
    await page.getByRole("heading", { name: `Disconnect ${store}?` }).waitFor();
    await page.getByRole("link", { name: "Keep it connected" }).click();
    await page.waitForURL("**/products");
    expect(await productsOn(page)).toContain("House espresso, 250 g");
    expect(await stored()).toMatchObject({ domainPrefix: store });
    await page.getByRole("link", { name: "Disconnect" }).click();
    await page.getByRole("button", { name: "Disconnect store" }).click();
    await page.getByRole("link", { name: "Log in with store" }).waitFor();
    expect(await stored()).toBeUndefined();
  });

  test("breaks a store in the sandbox's console, and mends it there", async () => {
    const page = await person.newPage();
    await page.goto(`${shop.app.origin}/auth/retail-pos`);
    await approve(page, store);
    await page.waitForURL("**/products");

    const service = await person.newPage();
    const token = await tokenOf(shop);
    await service.goto(shop.sandbox.url);
    await service.getByRole("button", { name: "Expire now" }).first().click();
    await expect.poll(() => shop.sandbox.liveTokens(store).access).toBe(0);
    expect(await service.content()).not.toContain(token);
    await page.reload();
    expect(await productsOn(page)).toContain("House espresso, 250 g");
  });
});

describe.skipIf(!executablePath)("a person whose browser has a cookie of a neighbouring subdomain", () => {
  let browser: Browser;
  beforeAll(async () => {
    const args = [...CHROMIUM_FLAGS, SUBDOMAINS];
    browser = await chromium.launch({ executablePath: executablePath as string, args });
  });
  afterAll(() => browser?.close());

  const names = ["Express 5 with Passport 0.7", "Koa 3 with koa-passport", "node:http with webLogin"];
  const some = combinations.flatMap((one) => (names.includes(one.name) ? [[one.name, one] as const] : []));
  test.each(some)(
    "is not logged in to a stranger's store, and can log in to the own one: %s",
    async (_, one) => {
      const { sandbox, origin, inner, plant, cookieHeaders } = await startOnSubdomain(one);
      const stranger = simpleBrowser();
      const theirs = sandbox.consent(
        (await stranger.open(`${inner.origin}/login`)).location,
        "second-chapter",
      );
      const cookie = stranger
        .cookies("localhost")
        .split("; ")
        .find((pair) => pair.startsWith("__Host-"));
      const [name = "", value = ""] = cookie?.split("=") ?? [];

      const person = await browser.newContext({ ignoreHTTPSErrors: true });
      const page = await person.newPage();
      await page.goto(plant(`\u00a0${name}`, value));
      await page.goto(`${origin}/login`);
      expect(cookieHeaders.at(-1)).toContain(`\u00a0${name}`); // the browser took it, and sends it
      const login = page.url();
      expect((await page.goto(theirs.href))?.status()).toBe(403);
      expect(await userAt(page, origin)).toEqual({ user: null });
      expect(sandbox.tokenRequests()).toHaveLength(0);

      await page.goto(login);
      await approve(page, store);
      await page.waitForURL("**/callback?*");
      expect(await userAt(page, origin)).toEqual({ user: { domainPrefix: store } });
      await person.close();
    },
  );
});

/** The Express example with its database, which it is restarted on. */
async function startKeptShop() {
  const folder = mkdtempSync(join(tmpdir(), "retail-pos-kept-"));
  let handler: RequestListener = () => {};
  const app = await listen((req, res) => handler(req, res));
  const sandbox = await startSandbox({ redirectUri: `${app.origin}/auth/retail-pos/callback` });
  const { authUrl, baseUrl, application } = sandbox;
  const settings = { service: { ...application, authUrl, baseUrl }, SESSION_SECRET: "for the tests" };
  const start = async () => {
    const place = { DATABASE_URL: undefined, REDIS_URL: undefined, NAMESPACE: "" };
    const { tokens, sessions } = await openStore({ ...place, DATABASE_FILE: join(folder, "login.sqlite") });
    handler = createApp(settings, { ...tokens, sessions });
  };
  await start();
  onTestFinished(async () => {
    await app.close();
    rmSync(folder, { recursive: true });
    await sandbox.close();
  });
  return {
    origin: app.origin,
    sandbox,
    restart: start,
  };
}

async function approve(page: Page, domainPrefix: string): Promise<void> {
  await page.locator(`input[value="${domainPrefix}"]`).check({ force: true });
  await page.getByRole("button", { name: "Approve" }).click();
}

async function userAt(page: Page, origin: string): Promise<unknown> {
  const answer = await page.goto(`${origin}/me`);
  return answer?.json();
}

async function productsOn(page: Page): Promise<string[]> {
  return page.locator("tbody td:first-child").allTextContents();
}

async function storeOn(page: Page): Promise<string | null> {
  return page.locator(".store").textContent();
}

async function tokenOf(shop: Shop): Promise<string> {
  return shop.sandbox.createPersonalToken(store);
}
