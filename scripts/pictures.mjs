// Takes the screenshots in docs/pictures from the running programs: `pnpm pictures`. Needs a Chromium.
// Time stands still where it can, so that a picture changes with its page only.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import sharp from "sharp";
import { createApp } from "../examples/express-login/dist/app.js";
import { createApp as createManyStores } from "../examples/many-stores/dist/app.js";
import { openParts } from "../examples/many-stores/dist/parts.js";
import { settingsFrom } from "../examples/many-stores/dist/settings.js";
import { readProducts } from "../examples/many-stores/dist/store-api.js";
import { startSandbox, virtualClock } from "../packages/sandbox/dist/index.js";

const folder = fileURLToPath(new URL("../docs/pictures", import.meta.url));
const store = "harbour-coffee";
// The ports that the documents speak of: the consent page and the console show them.
const port = 3000;
const sandboxPort = 4010;
const origin = `http://localhost:${port}`;
/** When it is, for the applications and for who looks at them. */
const today = Date.UTC(2026, 0, 5, 9, 30);

mkdirSync(folder, { recursive: true });
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--headless", "--no-sandbox", "--disable-gpu", "--font-render-hinting=none"],
});
try {
  await picturesOfLogin();
  await pictureOfManyStores();
} finally {
  await browser.close();
}

/** The Express example with the consent page between, and what the sandbox's console shows of it. */
async function picturesOfLogin() {
  const clock = virtualClock(today);
  const sandbox = await startSandbox({ port: sandboxPort, clock, stores: 4 });
  const { authUrl, baseUrl, application } = sandbox;
  const app = createApp(
    { service: { ...application, authUrl, baseUrl }, SESSION_SECRET: "for the pictures" },
    { clock, cacheMs: 0 },
  );
  const server = app.listen(port, "127.0.0.1");
  try {
    const page = await newPage(1000, 620);
    await page.clock.setFixedTime(today);
    await page.goto(origin);
    await shoot(page, "express-welcome");
    await page.getByRole("link", { name: "Log in with store" }).click();
    await page.locator(`input[value=${store}]`).check();
    await page.setViewportSize({ width: 1260, height: 781 });
    await shoot(page, "consent");
    await page.setViewportSize({ width: 1000, height: 620 });
    await page.getByRole("button", { name: "Approve" }).click();
    await page.waitForURL("**/products");
    await shoot(page, "express-products");

    // A day and a failure later, for the console to have something to tell.
    clock.advance(86_400_000 - 60_000);
    sandbox.fault(503, { domainPrefix: store });
    await page.reload();
    clock.advance(61_000);
    await page.reload();
    clock.advance(3_600_000);
    sandbox.expire(store);
    await page.reload();

    const console = await newPage(1200, 980);
    await console.goto(sandbox.url);
    await console.getByRole("heading", { name: "Harbour Coffee" }).waitFor();
    await shoot(console, "console");
  } finally {
    server.close();
    server.closeAllConnections();
    await sandbox.close();
  }
}

/** A person's stores in the morning: what was pulled at night, and one that refused. */
async function pictureOfManyStores() {
  const clock = virtualClock(Date.UTC(2026, 0, 5, 2, 10));
  const sandbox = await startSandbox({ port: sandboxPort, clock });
  const data = mkdtempSync(join(tmpdir(), "retail-pos-pictures-"));
  const settings = settingsFrom({ DATABASE_FILE: join(data, "stores.sqlite") });
  const parts = openParts(settings, { clock, cacheMs: 0 });
  const { records } = parts;
  const server = createManyStores(settings, parts).listen(port, "127.0.0.1");
  try {
    const page = await newPage(1280, 720);
    await page.clock.setFixedTime(Date.UTC(2026, 0, 5, 9, 30));
    await page.goto(`${origin}/sign-up`);
    await page.getByLabel("E-mail address").fill("ada@example.com");
    await page.getByLabel("Password").fill("four words are a password");
    await page.getByRole("button", { name: "Create account" }).click();
    await page.waitForURL("**/stores");
    for (const { domainPrefix } of sandbox.stores) {
      await page.goto(`${origin}/auth/retail-pos`);
      await page.locator(`input[value=${domainPrefix}]`).check();
      await page.getByRole("button", { name: "Approve" }).click();
      await page.waitForURL(`**/stores/${domainPrefix}`);
      records.savePull(domainPrefix, await readProducts(parts.client.retailer(domainPrefix)), clock());
    }
    records.addMembership(records.addPerson("bob@example.com", "").id, store);
    sandbox.refuse("second-chapter");
    clock.advance(86_400_000);
    await page.goto(`${origin}/stores/second-chapter`);
    await page.goto(`${origin}/stores`);
    await shoot(page, "many-stores");
  } finally {
    server.close();
    server.closeAllConnections();
    parts.close();
    await sandbox.close();
    rmSync(data, { recursive: true });
  }
}

async function newPage(width, height) {
  const context = await browser.newContext({
    viewport: { width, height },
    deviceScaleFactor: 2,
    locale: "en-GB",
    timezoneId: "UTC",
  });
  return context.newPage();
}

/** @param what a page or a part of one. With 256 colours a picture of a page loses nothing but its size. */
async function shoot(what, name) {
  const picture = await what.screenshot({ animations: "disabled" });
  await sharp(picture).png({ palette: true, effort: 10 }).toFile(`${folder}/${name}.png`);
}
