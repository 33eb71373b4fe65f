import { startSandbox } from "@retail-pos/sandbox";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { CHROMIUM_FLAGS, findChromium } from "./support/chromium.js";
import { listen } from "./support/listen.js";
import { type PassportSite, type PassportSiteSettings, passportSites } from "./support/passport-sites.js";

// What a browser decides: where redirects end.

const executablePath = findChromium();

describe.skipIf(!executablePath)("in Chromium", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: executablePath as string, args: CHROMIUM_FLAGS });
  });
  afterAll(() => browser?.close());

  describe.each(passportSites)("$name", (site) => {
    test.each<[string, string, (path: string) => string, number]>([
      ["cuts the callback's path and drops its query", "/app/any/callback", () => "/any/callback", 400],
      ["drops the callback's query", "/any/callback", (path) => path.replace(/\?.*/, ""), 400],
      ["breaks the callback's parameters", "/any/callback", (path) => path.replace(/\?.*/, "?lang=en"), 400],
      ["cuts the callback's path", "/app/any/callback", (path) => path.replace("/app", ""), 200],
    ])(
      "a proxy in front %s: the visit ends, and not in a circle",
      async (_, callbackPath, change, status) => {
        const { page, url } = await open(browser, site, { callbackPath, change });
        await page.goto(url("/any/login"));
        const answer = page.waitForResponse((response) => response.url().includes("/callback"));
        await approve(page);
        expect((await answer).status()).toBe(status);
        expect(page.url()).toContain(callbackPath);
      },
    );
  });
});

async function approve(page: Page): Promise<void> {
  await page.locator('input[value="harbour-coffee"]').check({ force: true });
  await page.getByRole("button", { name: "Approve" }).click();
  await page.waitForURL("**/callback*");
}

interface Place {
  readonly callbackPath: string;
  /** What a proxy in front makes of the callback's path and query. */
  readonly change?: (path: string) => string;
}

async function open(browser: Browser, { site }: PassportSite, place: Place) {
  const { callbackPath, change = (path) => path } = place;
  const { origin, close } = await listen((req, res) => {
    if (req.url?.startsWith(callbackPath)) req.url = change(req.url);
    app(req, res);
  });
  onTestFinished(close);
  const callbackURL = `${origin}${callbackPath}`;
  const sandbox = await startSandbox({ redirectUri: callbackURL });
  onTestFinished(() => sandbox.close());
  const { authUrl, baseUrl, application } = sandbox;
  const { clientId: clientID, clientSecret } = application;
  const strategy: PassportSiteSettings["strategy"] = {
    ...{ authUrl, baseUrl, clientID, clientSecret, callbackURL },
    logFailures: false,
  };
  const app = site({ strategy });
  const context = await browser.newContext();
  onTestFinished(() => context.close());
  return { page: await context.newPage(), url: (path: string) => `${origin}${path}` };
}
