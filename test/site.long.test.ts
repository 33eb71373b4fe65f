import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { brokenAnchors, sidebar } from "../site/pages.mjs";
import { CHROMIUM_FLAGS, findChromium } from "./support/chromium.js";
import { startCommand } from "./support/command.js";
import { freePort } from "./support/listen.js";
import { root } from "./support/sources.js";

// The documents as a site, as `pnpm site` serves it. Its build fails on a link to a page or a heading that is not
// there.

const vitepress = (...args: string[]) =>
  startCommand(join(root, "node_modules/vitepress/bin/vitepress.js"), args, {
    cwd: root,
    until: (end) => ends.push(end),
  });
const ends: (() => void | Promise<void>)[] = [];
let browser: Browser;
let origin: string;

beforeAll(async () => {
  const build = vitepress("build", "site");
  expect(await build.ended, build.output()).toBe(0);
  const port = await freePort();
  origin = `http://localhost:${port}`;
  await vitepress("preview", "site", "--port", String(port)).printed(/served at/);
  browser = await chromium.launch({ executablePath: findChromium() ?? "", args: CHROMIUM_FLAGS });
}, 180_000);
afterAll(async () => {
  await browser?.close();
  for (const end of ends) await end();
});

describe("the search finds first, for", () => {
  let page: Page;
  beforeAll(async () => {
    page = await browser.newPage();
    await page.goto(origin);
    await page.locator("#local-search button").click();
  });

  test.each([
    ["state_unknown", "/docs/troubleshooting#a-login-fails-infocode"],
    ["bad_stored_tokens", "/docs/troubleshooting#a-request-fails-errorcode"],
    ["trust proxy", "/docs/frameworks#behind-a-proxy-and-when-a-login-fails"],
    ["RETAIL_POS_SCOPE", "/#in-your-express-app"],
    ["rotating keys", "/packages/sealed-store/#rotating-keys"],
    ["429", "/docs/service#8-limits"],
    ["Next.js", "/docs/frameworks/nextjs#nextjs"],
  ])("%s: %s", async (words, address) => {
    await page.locator("#localsearch-input").fill(words);
    const first = page.locator(".VPLocalSearchBox .result").first();
    await expect.poll(() => first.getAttribute("href")).toBe(address);
  });
});

test("every page of the sidebar is there, and fits a telephone", async () => {
  const page = await browser.newPage({ viewport: { width: 390, height: 800 } });
  const links = sidebar.flatMap(({ items }) => items.map(({ link }) => link));
  expect(links.length).toBeGreaterThan(40);
  for (const link of links) {
    expect([link, (await page.goto(origin + link))?.status()]).toEqual([link, 200]);
    expect([link, await page.evaluate("document.documentElement.scrollWidth")]).toEqual([link, 390]);
  }
}, 120_000);

test("a link to a heading that is not there is found", () => {
  const folder = mkdtempSync(join(tmpdir(), "retail-pos-site-"));
  mkdirSync(join(folder, "docs"));
  const links = ["#here", "#gone", "/base/docs/a#here", "/base/docs/#there", "/base/docs/#gone", "/docs/b#x"];
  const html = links.map((link) => `<a class="x" href="${link}"></a>`).join("");
  writeFileSync(join(folder, "docs/a.html"), `<h2 id="here"></h2>${html}`);
  writeFileSync(join(folder, "docs/index.html"), '<h2 id="there"></h2><a href="https://x.example/#y"></a>');
  expect(brokenAnchors(folder, "/base/")).toEqual([
    "/docs/a.html: /docs/a.html#gone",
    "/docs/a.html: /docs/#gone",
    "/docs/a.html: /docs/b#x",
  ]);
  rmSync(folder, { recursive: true });
});
