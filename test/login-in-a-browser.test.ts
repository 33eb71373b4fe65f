import { startSandbox } from "@retail-pos/sandbox";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { CHROMIUM_FLAGS, findChromium } from "./support/chromium.js";
import { listen } from "./support/listen.js";
import { type PassportSite, type PassportSiteSettings, passportSites } from "./support/passport-sites.js";

// What a browser decides: where redirects end, and which headers tell a click.

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

  describe.each(passportSites.filter(({ name }) => /^Express 5|secure-session$/.test(name)))(
    "$name",
    (site) => {
      test("a page of another site that starts login after login without a click: mine is finished", async () => {
        const { page, url, starts } = await open(browser, site, { callbackPath: "/any/callback" });
        await page.goto(url("/any/login"));
        const stranger = await listen((_req, res) => {
          res.setHeader("content-type", "text/html");
          res.end(`<script>location = ${JSON.stringify(url("/any/login"))} + location.search</script>`);
        });
        onTestFinished(stranger.close);
        for (let start = 1; start <= 14; start += 1) {
          const other = await page.context().newPage();
          const address = `${stranger.origin.replace("localhost", "127.0.0.1")}/?${start}`;
          await other.goto(address, { waitUntil: "commit" });
          await vi.waitUntil(() => starts.includes(`/any/login?${start}`), 20_000); // asking the page would be a click
          await other.close();
        }
        await approve(page);
        expect(JSON.parse((await page.locator("body").textContent()) ?? "")).toMatchObject({
          user: { domainPrefix: "harbour-coffee" },
        });
      });
    },
  );
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
  const starts: string[] = [];
  const { origin, close } = await listen((req, res) => {
    const { url = "" } = req; // Express changes it
    res.once("close", () => starts.push(url));
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
  return { page: await context.newPage(), url: (path: string) => `${origin}${path}`, starts };
}
