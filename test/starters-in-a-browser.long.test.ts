import { startSandbox } from "@retail-pos/sandbox";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { CHROMIUM_FLAGS, findChromium } from "./support/chromium.js";
import type { Until } from "./support/command.js";
import { freePort, type Listening, listen } from "./support/listen.js";
import { onceForEach, type Starter, starters, startStarter } from "./support/starters.js";

// What only a browser does: it enforces the policy of the pages, says where a form came from, and keeps pages for Back.

const executablePath = findChromium();
const store = "harbour-coffee";
const espresso = "House espresso, 250 g";

const deployed = onceForEach(deploy);

describe.skipIf(!executablePath)("a person with a browser", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: executablePath as string, args: CHROMIUM_FLAGS });
  });
  afterAll(() => browser?.close());

  // For the one with accounts see many-stores.long.test.ts.
  const withPages = starters.filter(({ hasPages, hasAccounts }) => hasPages && !hasAccounts);

  test.each(withPages)(
    "$name: logs in, sees a page whole, logs out; Back shows it no more",
    async (starter) => {
      const { page, origin, complaints } = await visit(starter);
      await page.getByRole("link", { name: "Log in with store" }).click();
      await approve(page);
      await page.waitForURL("**/products");
      expect(await page.content()).toContain(espresso);
      expect(await page.evaluate("document.styleSheets[0].cssRules.length")).toBeGreaterThan(10);

      await page.getByRole("button", { name: "Log out" }).click(); // its Origin is the page's own
      await page.waitForURL(`${origin}/`);
      await page.goBack();
      await page.getByRole("link", { name: "Log in with store" }).waitFor();
      expect(await page.content()).not.toContain(espresso);
      expect(complaints()).toEqual([]);
    },
  );

  test.each(withPages)("$name: a form of its own may start a login", async (starter) => {
    const { page, complaints } = await visit(starter);
    // The browser asks the policy of this page about the redirect to the consent server.
    await submitForm(page, "/auth/retail-pos", "get");
    await approve(page);
    await page.waitForURL("**/products");
    expect(complaints()).toEqual([]);
  });

  test.each(withPages)("$name: is not logged out by a page of another site", async (starter) => {
    const { page, origin, person, complaints } = await visit(starter);
    await page.getByRole("link", { name: "Log in with store" }).click();
    await approve(page);
    await page.waitForURL("**/products");

    const elsewhere = await person.newPage();
    const answers: number[] = [];
    elsewhere.on("response", (response) => {
      if (response.url().endsWith("/logout")) answers.push(response.status());
    });
    // Another origin of the same site: SameSite=Lax would send the cookie along.
    await elsewhere.goto((await startSite()).origin);
    await submitForm(elsewhere, `${origin}/logout`, "post");
    await elsewhere.waitForURL("**/logout");
    expect(answers).toEqual([403]);
    await page.reload();
    expect(await page.content()).toContain(espresso);
    expect(complaints()).toEqual([]);
  });

  /** Somebody who opens a starter for the first time. */
  async function visit(starter: Starter) {
    const origin = await deployed(starter);
    const person = await browser.newContext();
    onTestFinished(() => person.close());
    const page = await person.newPage();
    const complaints: string[] = [];
    page.on("console", (message) => {
      if (message.text().includes("Content Security Policy")) complaints.push(message.text());
    });
    await page.goto(origin);
    return { page, origin, person, complaints: () => complaints };
  }
});

/** Answers where a starter can be opened. */
async function deploy(starter: Starter, until: Until): Promise<string> {
  const port = await freePort();
  const origin = `http://localhost:${port}`;
  const redirectUri = `${origin}/auth/retail-pos/callback`;
  const sandbox = await startSandbox({ redirectUri });
  until(() => sandbox.close());
  const { authUrl, baseUrl, application } = sandbox;
  const settings = {
    PORT: String(port),
    RETAIL_POS_AUTH_URL: authUrl,
    RETAIL_POS_BASE_URL: baseUrl,
    RETAIL_POS_CLIENT_ID: application.clientId,
    RETAIL_POS_CLIENT_SECRET: application.clientSecret,
    RETAIL_POS_REDIRECT_URI: redirectUri,
    SESSION_SECRET: "for the tests, and for nothing else",
  };
  await startStarter(starter, settings, until);
  return origin;
}

/** Somebody else's page, on another port of this machine. */
async function startSite(): Promise<Listening> {
  const site = await listen((_req, res) => {
    res.setHeader("content-type", "text/html");
    res.end("<!doctype html><title>Elsewhere</title>");
  });
  onTestFinished(() => site.close());
  return site;
}

async function approve(page: Page): Promise<void> {
  await page.locator(`input[value="${store}"]`).check({ force: true });
  await page.getByRole("button", { name: "Approve" }).click();
}

function submitForm(page: Page, action: string, method: string): Promise<void> {
  const attributes = JSON.stringify({ action, method });
  return page.evaluate(`{
    const form = Object.assign(document.createElement("form"), ${attributes});
    document.body.append(form);
    form.submit();
  }`);
}
