import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { type Sandbox, startSandbox } from "@retail-pos/sandbox";
import Database from "libsql";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { CHROMIUM_FLAGS, findChromium } from "./support/chromium.js";
import { type RunningCommand, startCommand } from "./support/command.js";
import { sqliteFile } from "./support/engines.mjs";
import { freePort } from "./support/listen.js";
import { faultsSeenOn } from "./support/look.js";
import { forget } from "./support/processes.js";
import { root } from "./support/sources.js";

// examples/many-stores as it is deployed, the server and the nightly job each a process: people who share a store, each
// with a browser of their own.

const password = "four words are a password";
const executablePath = findChromium();
const store = "harbour-coffee";
const name = "Harbour Coffee Roasters";
const espresso = "House espresso, 250 g";

describe.skipIf(!executablePath)("two people with a browser each", () => {
  let browser: Browser;
  let sandbox: Sandbox;
  let server: RunningCommand;
  let origin: string;
  let namespace: string;
  let env: Record<string, string>;

  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: executablePath as string, args: CHROMIUM_FLAGS });
  });
  afterAll(() => browser?.close());
  beforeEach(async () => {
    const port = await freePort();
    origin = `http://localhost:${port}`;
    namespace = `many_${randomUUID().slice(0, 8)}`;
    const redirectUri = `${origin}/auth/retail-pos/callback`;
    sandbox = await startSandbox({ redirectUri });
    env = {
      PORT: String(port),
      RETAIL_POS_AUTH_URL: sandbox.authUrl,
      RETAIL_POS_BASE_URL: sandbox.baseUrl,
      RETAIL_POS_CLIENT_ID: sandbox.application.clientId,
      RETAIL_POS_CLIENT_SECRET: sandbox.application.clientSecret,
      RETAIL_POS_REDIRECT_URI: redirectUri,
      DATABASE_FILE: sqliteFile(namespace),
    };
    server = start("server");
    await server.printed(/Open http/);
  });
  afterEach(async () => {
    for (const context of browser.contexts()) await context.close();
    server.child.kill("SIGKILL");
    await server.ended;
    await forget("sqlite", namespace);
    await sandbox.close();
  });

  const start = (program: string) =>
    startCommand(join(root, `examples/many-stores/dist/${program}.js`), [], { env });

  async function runNightly(): Promise<void> {
    const nightly = start("nightly");
    await nightly.printed(/Nightly run: /);
    await nightly.ended;
  }

  function countTokens(): number {
    const database = new Database(env["DATABASE_FILE"] as string);
    try {
      return database.prepare("SELECT domain_prefix FROM retail_pos_tokens").all().length;
    } finally {
      database.close();
    }
  }

  test("share a store, and disconnect it one after the other", async () => {
    const ada = await signUp("ada@example.com");
    const bob = await signUp("bob@example.com");
    await connect(ada, store);
    expect(await ada.locator("tbody td:first-child").allTextContents()).toContain(espresso);

    // A stranger who knows the address finds nothing there.
    await bob.goto(`${origin}/stores/${store}`);
    await bob.getByRole("heading", { name: "There is no such page" }).waitFor();
    await connect(bob, store);
    await bob.getByRole("heading", { name }).waitFor();

    await disconnect(ada, /One more person has it here/);
    await ada.getByRole("heading", { name: "Connect your first store" }).waitFor();
    await ada.goto(`${origin}/stores/${store}`);
    await ada.getByRole("heading", { name: "There is no such page" }).waitFor();
    expect(countTokens()).toBe(1);
    await bob.reload();
    expect(await bob.locator("tbody td:first-child").allTextContents()).toContain(espresso);

    await disconnect(bob, /Nobody else has it here/);
    await bob.getByRole("heading", { name: "Connect your first store" }).waitFor();
    expect(countTokens()).toBe(0);
  });

  test("are asked to connect again if the access ended, and see what was counted at night", async () => {
    const ada = await signUp("ada@example.com");
    await connect(ada, store);
    await runNightly();
    sandbox.refuse(store);
    sandbox.expire(store);
    await ada.reload();
    await ada.getByText("Your store has to be connected again.").waitFor();
    expect(await ada.locator("tbody td:first-child").allTextContents()).toContain(espresso);
    await ada.getByRole("link", { name: "Your stores", exact: true }).click();
    await ada.getByRole("link", { name: `Connect again ${name}` }).click();
    await approve(ada, store);
    await ada.getByText("Connected, as of").waitFor();
  });

  test("find nothing behind Back once they have logged out", async () => {
    const ada = await signUp("ada@example.com");
    await connect(ada, store);
    await ada.getByRole("button", { name: "Log out" }).click();
    await ada.getByRole("link", { name: "Create an account" }).waitFor();
    await ada.goBack();
    await ada.getByRole("heading", { name: "Welcome back" }).waitFor();
    expect(await ada.content()).not.toContain(espresso);
  });

  test("see pages that fit a phone and that everybody can use", async () => {
    const ada = await browser.newPage();
    const faults: string[] = [];
    const look = async (path?: string) => {
      if (path !== undefined) await ada.goto(origin + path);
      const found = [...(await faultsSeenOn(ada)), ...(await tooSmallOn(ada))];
      faults.push(...found.map((fault) => `${new URL(ada.url()).pathname}, ${fault}`));
      await ada.setViewportSize({ width: 1280, height: 720 });
    };
    await look("/");
    await look("/log-in");
    await ada.locator("#email").fill("somebody-with-a-long-name@a-long-domain.example");
    await ada.locator("#password").fill("wrong");
    await ada.getByRole("button", { name: "Log in" }).click();
    await ada.getByRole("alert").waitFor();
    await look();
    await look("/sign-up");
    await submitSignUp(ada, "somebody-with-a-long-name@a-long-domain.example");
    await look();
    await connect(ada, store);
    await look();
    await connect(ada, "rosas-bikes");
    await runNightly();
    sandbox.refuse(store);
    sandbox.expire(store);
    await look(`/stores/${store}`);
    await look("/stores");
    await look(`/stores/${store}/disconnect`);
    await look("/auth/retail-pos/callback?error=access_denied");
    await look("/no/such/page");
    expect(faults).toEqual([]);
  }, 120_000);

  async function signUp(email: string): Promise<Page> {
    const page = await (await browser.newContext()).newPage();
    await page.goto(origin);
    await page.getByRole("link", { name: "Create an account" }).click();
    await submitSignUp(page, email);
    return page;
  }

  async function submitSignUp(page: Page, email: string): Promise<void> {
    await page.getByLabel("E-mail address").fill(email);
    await page.getByLabel("Password").fill(password);
    await page.getByRole("button", { name: "Create account" }).click();
    await page.getByRole("heading", { name: "Connect your first store" }).waitFor();
  }

  async function connect(page: Page, domainPrefix: string): Promise<void> {
    await page.goto(`${origin}/stores`);
    await page.getByRole("link", { name: "Connect a store" }).click();
    await approve(page, domainPrefix);
    await page.waitForURL(`**/stores/${domainPrefix}`);
  }

  async function disconnect(page: Page, words: RegExp): Promise<void> {
    await page.getByRole("link", { name: "Disconnect this store" }).click();
    await page.getByText(words).waitFor();
    await page.getByRole("button", { name: "Disconnect store" }).click();
  }
});

/** What a thumb on a phone cannot hit well: what is to be pressed and is less than 44 pixels high. */
async function tooSmallOn(page: Page): Promise<string[]> {
  await page.setViewportSize({ width: 390, height: 720 });
  return page.evaluate<string[]>(`
    [...document.querySelectorAll("a, button, input")]
      .filter((each) => each.getBoundingClientRect().height < 44)
      .map((each) => "is too small for a thumb: " + each.outerHTML)`);
}

async function approve(page: Page, domainPrefix: string): Promise<void> {
  await page.locator(`input[value="${domainPrefix}"]`).check({ force: true });
  await page.getByRole("button", { name: "Approve" }).click();
}
