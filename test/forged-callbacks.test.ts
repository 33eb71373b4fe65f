import { type RetailPos, retailPos } from "@retail-pos/core";
import { type Sandbox, startSandbox, virtualClock } from "@retail-pos/sandbox";
import { Passport } from "passport";
import RetailPosStrategy from "passport-retail-pos";
import { expect, onTestFinished, test } from "vitest";
import { type Browser, browser } from "./support/browser.js";
import { loginSite } from "./support/login-site.js";

const VICTIM = "harbour-coffee";
const FORGED = 1_000;
const HOUR_MS = 3_600_000;

/**
 * Behaviour 7, and the attack that it answers: anybody may start a login of their own and call its callback with a
 * made-up code and somebody else's domain prefix. Each such callback used to cost that store a token request.
 */
test("1,000 forged callbacks that name a store cost it no renewal, and its own login a moment", async () => {
  const { sandbox, pos, site, clock } = await open();
  const code = sandbox.approve(VICTIM).searchParams.get("code") ?? "";
  await pos.connect(await pos.exchange(VICTIM, code));
  clock.advance(HOUR_MS); // its token ends now

  const tokenRequests = () => sandbox.requests.filter(({ path }) => path.endsWith("/token")).length;
  const before = tokenRequests();
  const forge = async (stranger: Browser, count: number) =>
    callback(stranger, new URLSearchParams({ code: `made-up-${count}`, domain_prefix: VICTIM }));
  const strangers = Array.from({ length: 10 }, browser);
  const answers = await Promise.all(
    strangers.map(async (stranger) => {
      const statuses: number[] = [];
      for (let count = 0; count < FORGED / 10; count += 1)
        statuses.push((await forge(stranger, count)).status);
      return statuses;
    }),
  );
  const sent = tokenRequests() - before;
  const refused = answers.flat().filter((status) => status === 403); // code_refused
  const heldUp = answers.flat().filter((status) => status === 503); // rate_limited
  expect([refused.length, heldUp.length]).toEqual([sent, FORGED - sent]);
  expect(sent).toBe(1); // the clock stands still, and the next may go a second after the first

  const response = await pos.retailer(VICTIM).fetch("api/products");
  expect(response.status).toBe(200); // renewed at the first call

  const person = browser();
  const early = await logIn(person);
  expect(early.status).toBe(503);
  const waitS = Number(early.headers.get("retry-after"));
  expect(waitS).toBe(1);
  clock.advance(waitS * 1000);
  expect((await logIn(person)).status).toBe(200);

  async function callback(stranger: Browser, query: URLSearchParams) {
    const { location } = await stranger.open(site.loginUrl);
    query.set("state", new URL(location).searchParams.get("state") ?? "");
    return stranger.open(`${site.callbackUrl}?${query}`);
  }

  async function logIn(who: Browser) {
    const { location } = await who.open(site.loginUrl);
    return who.open(sandbox.consent(location, VICTIM));
  }
});

test("an attack that goes on for five minutes leaves a tenth of the limit to renewals", async () => {
  const { sandbox, pos, clock } = await open();
  const code = sandbox.approve(VICTIM).searchParams.get("code") ?? "";
  await pos.connect(await pos.exchange(VICTIM, code));
  clock.advance(HOUR_MS);
  let statuses = new Set<unknown>();
  for (let second = 0; second < 299; second += 1) {
    const outcome = await pos
      .exchange(VICTIM, `made-up-${second}`)
      .catch((error: { status: number }) => error);
    statuses = statuses.add((outcome as { status: number }).status);
    clock.advance(1000);
  }
  expect(statuses).toEqual(new Set([403, 503]));
  expect((await pos.retailer(VICTIM).fetch("api/products")).status).toBe(200);
});

/** A site with a login, and the service whose token endpoint answers twenty times in five minutes. */
async function open() {
  const clock = virtualClock();
  const opened: { sandbox?: Sandbox; pos?: RetailPos } = {};
  const site = await loginSite(new Passport() as never, async (redirectUri) => {
    const rateLimit = { limit: 20, windowMs: 300_000 };
    const sandbox = await startSandbox({ clock, rateLimit, redirectUri, lifetimeMs: HOUR_MS });
    onTestFinished(() => sandbox.close());
    const { authUrl, baseUrl, application } = sandbox;
    const pos = retailPos({ ...application, authUrl, baseUrl, clock });
    Object.assign(opened, { sandbox, pos });
    return new RetailPosStrategy({ client: pos }, async ({ domainPrefix }) => ({ domainPrefix }) as never);
  });
  return { clock, site, ...(opened as Required<typeof opened>) };
}
