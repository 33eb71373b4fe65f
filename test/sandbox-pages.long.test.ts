import { retailPos } from "@retail-pos/core";
import { type Sandbox, type SandboxOptions, startSandbox } from "@retail-pos/sandbox";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { CHROMIUM_FLAGS, findChromium } from "./support/chromium.js";
import { faultsSeenOn } from "./support/look.js";

// The pages of the sandbox as people see them: on a phone and on a desk, by day and by night, by eye, keyboard or ear.

const executablePath = findChromium();
const store = "harbour-coffee";

describe.skipIf(!executablePath)("the sandbox's pages", () => {
  let browser: Browser;

  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: executablePath as string, args: CHROMIUM_FLAGS });
  });
  afterAll(() => browser?.close());

  async function open(url: string, width = 1280) {
    const context = await browser.newContext({ viewport: { width, height: 800 } });
    onTestFinished(() => context.close());
    const page = await context.newPage();
    await page.goto(url);
    return page;
  }

  test.each(pages)(
    "$name: axe finds nothing in any width and scheme, and nobody scrolls sideways",
    async (page) => {
      const sandbox = await started(page.options);
      const shown = await open(await page.address(sandbox));
      await page.arrive?.(shown);
      expect(await faultsSeenOn(shown)).toEqual([]);
    },
  );

  test("cards of one row have the same height, whatever is in them", async () => {
    const sandbox = await started();
    await everythingHappens(sandbox);
    const page = await open(sandbox.url);
    await isLive(page);
    const cards = await boxesOf(page, ".store");
    expect(cards.length).toBe(6);
    for (const card of cards) {
      const neighbours = cards.filter(({ top }) => top === card.top);
      expect(neighbours.length).toBeGreaterThan(1);
      expect(new Set(neighbours.map(({ height }) => height)).size).toBe(1);
    }
  });

  test("on a phone the requests are one tap away, wherever one is on the page", async () => {
    const sandbox = await started();
    await everythingHappens(sandbox);
    const page = await open(sandbox.url, 390);
    await page.evaluate("scrollTo(0, document.body.scrollHeight / 2)");
    const wayThere = ".on-this-page [href='#requests-title']";
    expect(await isInView(page, wayThere)).toBe(true);
    await page.locator(wayThere).click();
    await expect.poll(() => isInView(page, "#requests-title")).toBe(true);
    expect(await isInView(page, "#requests li")).toBe(true);
  });

  test("the timeline shows a rotation as it happens, and a spent token so that nobody overlooks it", async () => {
    const sandbox = await started();
    const page = await open(sandbox.url);
    expect(await page.locator("#timeline").isVisible()).toBe(false);

    const first = await login(sandbox);
    await page.getByText("R1 and A1 issued.").waitFor();
    const second = await refresh(sandbox, first.refresh_token);
    await page.getByText("R2 replaced R1, A2 issued. A1 ended with R1.").waitFor();

    await refresh(sandbox, first.refresh_token);
    await page.locator("#timeline .alarm").waitFor();
    await page.getByRole("status").getByText("A spent refresh token was sent").waitFor();
    expect(await page.locator(`#store-${store} .tag`).textContent()).toBe("May be lost");
    expect(await page.locator(".story .is-lost").count()).toBe(1);

    await refresh(sandbox, second.refresh_token);
    await expect.poll(() => page.locator(".alarm").count()).toBe(0);
    expect(await page.locator(".story .is-lost").count()).toBe(1);
    expect(await page.content()).not.toContain(second.refresh_token);
  });

  test("of two programs with a copy each of one store's tokens, the timeline names the one that lost it", async () => {
    const sandbox = await started();
    const { authUrl, baseUrl, application } = sandbox;
    const program = (userAgent: string) => retailPos({ ...application, authUrl, baseUrl, userAgent });
    const [site, copy] = [program("the-site"), program("the-nightly-copy")];
    const tokens = await site.exchange(store, sandbox.approve(store).searchParams.get("code") ?? "");
    for (const each of [site, copy]) await each.connect(tokens);
    const page = await open(sandbox.url);
    await isLive(page);

    await site.tokens(store).token({ rejected: tokens.access.value });
    const refused = copy.tokens(store).token({ rejected: tokens.access.value });
    await expect(refused).rejects.toMatchObject({ code: "reconnect_required" });
    await page.locator("#timeline .alarm").getByText("by the-nightly-copy, port").waitFor();
    await page.getByText("R2 replaced R1, A2 issued. A1 ended with R1. the-site, port").waitFor();
  });

  test("the timeline sees an access token end though nothing is sent", async () => {
    const sandbox = await started({ lifetimeMs: 1000 });
    const page = await open(sandbox.url);
    await login(sandbox);
    await page.getByText("The time of A1 is over.").waitFor();
  });

  test("another store is chosen with the keyboard, and a reload keeps it", async () => {
    const sandbox = await started();
    await login(sandbox, "rosas-bikes");
    await login(sandbox);
    const page = await open(sandbox.url);
    expect(await page.getByLabel("Store", { exact: true }).inputValue()).toBe(store);
    await page.locator("#timeline-of-rosas-bikes").focus();
    await page.keyboard.press("Enter");
    await expect.poll(() => page.evaluate("document.activeElement.id")).toBe("timeline-title");
    await page.reload();
    expect(await page.getByLabel("Store", { exact: true }).inputValue()).toBe("rosas-bikes");

    const changed = page.waitForResponse(/\/console\/timeline\?store=second-chapter/);
    await page.getByLabel("Store", { exact: true }).selectOption("Second Chapter Books");
    await changed;
    await page.getByText("No token was issued to this store yet.").waitFor();
  });

  test("a store that is chosen while the timeline of another one is on its way stays chosen", async () => {
    const sandbox = await started();
    await login(sandbox, "rosas-bikes");
    const page = await open(sandbox.url);
    await isLive(page);
    await page.evaluate(`
      const json = Response.prototype.json;
      Response.prototype.json = function () {
        const isTimeline = this.url.endsWith("?store=rosas-bikes");
        return isTimeline ? new Promise((resolve) => { window.arrive = () => resolve(json.call(this)); }) : json.call(this);
      };
    `);
    await login(sandbox, "rosas-bikes");
    await expect.poll(() => page.evaluate("typeof window.arrive")).toBe("function");
    const select = page.getByLabel("Store", { exact: true });
    await select.selectOption("Second Chapter Books");
    await page.evaluate("window.arrive()");
    await page.getByText("No token was issued to this store yet.").waitFor();
    expect(await select.inputValue()).toBe("second-chapter");
  });

  test("after a limit is healed, the console says until when the application remembers it", async () => {
    const sandbox = await started();
    await login(sandbox);
    const page = await open(sandbox.url);
    await page.getByRole("button", { name: "429 for a minute" }).first().click();
    await page.getByRole("button", { name: "Heal" }).waitFor();
    await refresh(sandbox, "whichever");
    await page.getByRole("button", { name: "Heal" }).click();
    await page
      .getByRole("status")
      .getByText(/The application remembers the 429 until \d\d:\d\d:\d\d/)
      .waitFor();
    await page
      .locator(`#store-${store} .memo`)
      .getByText(/remembers the 429 until \d\d:\d\d:\d\d/)
      .waitFor();
  });
});

interface ShownPage {
  readonly name: string;
  readonly options?: SandboxOptions;
  /** Prepares the sandbox, and answers where to go. */
  readonly address: (sandbox: Sandbox) => string | Promise<string>;
  /** What a person does there before the page is looked at. */
  readonly arrive?: (page: Page) => Promise<void>;
}

/** Every page there is, in every state that looks different. */
const pages: readonly ShownPage[] = [
  { name: "the consent page", address: consentAddress },
  {
    name: "the consent page with no store left to connect",
    options: { stores: 32 },
    address(sandbox) {
      for (const { domainPrefix } of sandbox.stores.slice(0, 30)) sandbox.approve(domainPrefix);
      return consentAddress(sandbox);
    },
  },
  { name: "a request that cannot be shown", address: ({ authUrl }) => `${authUrl}/connect` },
  {
    name: "a request with another redirect URI",
    address: (sandbox) =>
      consentAddress(sandbox).replace(/redirect_uri=.*/, "redirect_uri=https://elsewhere.example"),
  },
  {
    name: "a page that was answered before",
    address: consentAddress,
    async arrive(page) {
      await page.locator("[name=request]").evaluate((input) => input.setAttribute("value", "answered"));
      await page.getByRole("button", { name: "Decline" }).click();
      await page.getByRole("heading", { name: "This page has been answered already" }).waitFor();
    },
  },
  { name: "an address that does not exist", address: ({ url }) => `${url}/nowhere` },
  { name: "the console before the first login", address: ({ url }) => url, arrive: isLive },
  {
    name: "the console when everything has happened",
    address: afterEverything,
    async arrive(page) {
      await isLive(page);
      await page.locator(`#personal-${store} summary`).click();
      await page.locator("#application summary").click();
    },
  },
  {
    name: "the console with a new personal token",
    address: afterEverything,
    async arrive(page) {
      await isLive(page);
      await page.locator(`#personal-${store} summary`).click();
      await page.locator(`#createPersonalToken-owner-${store}`).click();
      await page.getByRole("dialog").waitFor();
    },
  },
];

async function started(options: SandboxOptions = {}): Promise<Sandbox> {
  const sandbox = await startSandbox(options);
  onTestFinished(() => sandbox.close());
  return sandbox;
}

function consentAddress({ authUrl, application }: Sandbox): string {
  const query = { response_type: "code", client_id: application.clientId, state: "12345678" };
  return `${authUrl}/connect?${new URLSearchParams({ ...query, redirect_uri: application.redirectUri })}`;
}

async function afterEverything(sandbox: Sandbox): Promise<string> {
  await everythingHappens(sandbox);
  return `${sandbox.url}/?store=${store}`;
}

/** Each state of a card, and each event of a timeline. */
async function everythingHappens(sandbox: Sandbox): Promise<void> {
  const first = await login(sandbox);
  const second = await refresh(sandbox, first.refresh_token);
  sandbox.expire(store);
  await call(sandbox, second.access_token);
  sandbox.fault("half", { domainPrefix: store });
  await refresh(sandbox, second.refresh_token);
  sandbox.refuse(store);
  await refresh(sandbox, "unknown");
  await login(sandbox);
  await refresh(sandbox, first.refresh_token);
  sandbox.createPersonalToken(store);
  sandbox.fault(500, { domainPrefix: store, times: 3 });

  await login(sandbox, "second-chapter");
  sandbox.refuse("second-chapter");
  sandbox.limit("rosas-bikes", 60_000);
  await refresh(sandbox, "unknown", "rosas-bikes");
  sandbox.clearFaults("rosas-bikes");
  sandbox.limit("plant-room", 60_000);
  sandbox.approve("little-sparks");
}

interface WireTokens {
  readonly access_token: string;
  readonly refresh_token: string;
}

async function login(sandbox: Sandbox, domainPrefix = store): Promise<WireTokens> {
  const code = sandbox.approve(domainPrefix).searchParams.get("code") ?? "";
  const { redirectUri } = sandbox.application;
  return tokenRequest(sandbox, domainPrefix, {
    grant_type: "authorization_code",
    code,
    redirect_uri: redirectUri,
  });
}

function refresh(sandbox: Sandbox, refreshToken: string, domainPrefix = store): Promise<WireTokens> {
  return tokenRequest(sandbox, domainPrefix, { grant_type: "refresh_token", refresh_token: refreshToken });
}

async function tokenRequest(
  { baseUrl, application }: Sandbox,
  domainPrefix: string,
  fields: Record<string, string>,
): Promise<WireTokens> {
  const { clientId, clientSecret } = application;
  const body = new URLSearchParams({ client_id: clientId, client_secret: clientSecret, ...fields });
  const response = await fetch(`${baseUrl.replace("{domain_prefix}", domainPrefix)}/api/1.0/token`, {
    method: "POST",
    body,
  });
  // Of an answer that was cut off there is nothing to read.
  return (await response.json().catch(() => ({ access_token: "", refresh_token: "" }))) as WireTokens;
}

async function call({ baseUrl }: Sandbox, token: string): Promise<void> {
  const url = `${baseUrl.replace("{domain_prefix}", store)}/api/products`;
  await fetch(url, { headers: { authorization: `Bearer ${token}` } });
}

async function isLive(page: Page): Promise<void> {
  await page.getByText("Live", { exact: true }).waitFor();
}

/** In one go: a change would put other elements in their places. */
function boxesOf(page: Page, selector: string): Promise<{ top: number; height: number }[]> {
  return page.locator(selector).evaluateAll((elements) =>
    elements.map((element) => {
      const { top, height } = element.getBoundingClientRect();
      return { top: Math.round(top), height: Math.round(height) };
    }),
  );
}

async function isInView(page: Page, selector: string): Promise<boolean> {
  const box = await page.locator(selector).first().boundingBox();
  const window = page.viewportSize();
  return box !== null && window !== null && box.y >= 0 && box.y < window.height;
}
