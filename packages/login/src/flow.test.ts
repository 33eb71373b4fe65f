import { memoryStore, type RetailPosOptions, retailPos } from "@retail-pos/core";
import { describe, expect, test } from "vitest";
import { fakeService, oauthError } from "../../core/testing/fake-service.js";
import { APPLICATION, approval, CALLBACK, MINUTE_MS } from "../testing/site.js";
import { type LoginFlowOptions, loginFlow } from "./index.js";

describe("start", () => {
  test("says where to send the browser, and what to keep for it", async () => {
    const { flow } = open();
    const { url, pending } = await flow.start();
    const { origin, pathname, searchParams } = new URL(url);
    expect(origin + pathname).toBe("https://login.example.com/connect");
    expect([...searchParams.keys()].sort()).toEqual(["client_id", "redirect_uri", "response_type", "state"]);
    expect(pending).toContain(searchParams.get("state"));
  });

  test("keeps the logins that are under way already, and of many the newest that there is room for", async () => {
    const { flow, service } = open();
    let pending: string | undefined;
    const urls: string[] = [];
    for (let login = 0; login < 30; login += 1) {
      const started = await flow.start({ pending });
      urls.push(started.url);
      pending = started.pending;
    }
    const finish = (login: number) => flow.finish(approval(urls[login] ?? "", `shop-${login}`), { pending });
    expect(await finish(4)).toMatchObject({ ok: false, code: "state_unknown" });
    expect(await finish(10)).toMatchObject({ ok: true, login: { domainPrefix: "shop-10" } });
    expect(await finish(29)).toMatchObject({ ok: true });
    expect(service.seen).toHaveLength(2);
  });

  test("says of a callback without its login that some hosts let one cookie through", async () => {
    const { flow } = open();
    const { url } = await flow.start();
    const lost = approval(url, "shop");
    expect(await flow.finish(lost, {})).toMatchObject({
      code: "state_unknown",
      message: expect.stringContaining("`__session`"),
    });
    lost.searchParams.delete("state");
    expect(await flow.finish(lost, {})).toMatchObject({
      code: "state_missing",
      message: expect.stringContaining("`__session`"),
    });
  });

  test.each([
    ["of a million characters", "x".repeat(1_000_000)],
    ["that is too long only in bytes", "é".repeat(40_000)],
    ["that is too long only in JSON", '"'.repeat(40_000)],
  ])("rejects a state %s with a TypeError that names it", async (_, state) => {
    const starting = open().flow.start({ state });
    await expect(starting).rejects.toThrow(TypeError);
    await expect(starting).rejects.toThrow(/state/);
  });

  test.each<[string, unknown, number]>([
    ["the last eleven with small states", { returnTo: `/${"x".repeat(60)}` }, 11],
    ["the last two with long states", "x".repeat(700), 2],
    ["only the last, if its state alone is longer", "x".repeat(30_000), 1],
  ])("keeps at most 2,000 bytes, one login at least: %s", async (_, state, kept) => {
    const { flow } = open();
    let pending: string | undefined;
    const urls: string[] = [];
    for (let login = 0; login < 15; login += 1) {
      const started = await flow.start({ pending, state });
      urls.push(started.url);
      pending = started.pending;
    }
    if (kept > 1) expect(pending?.length).toBeLessThanOrEqual(2_000);
    const outcomes = [];
    for (const [login, url] of urls.entries())
      outcomes.push((await flow.finish(approval(url, `shop-${login}`), { pending })).ok);
    expect(outcomes.lastIndexOf(false)).toBe(14 - kept);
    expect(outcomes.slice(-kept)).toEqual(Array(kept).fill(true));
  });

  test("takes undefined for everything that it may be given", async () => {
    const none = { pending: undefined, state: undefined, redirectUri: undefined, scope: undefined };
    const { flow } = open();
    const { url, pending } = await flow.start(none);
    expect(await flow.finish(approval(url, "shop"), { pending, spent: undefined })).toMatchObject({
      ok: true,
      state: undefined,
      pending: undefined,
    });
  });

  test.each([
    ["redirectUri", { redirectUri: "http://app.example.net/cb" }],
    ["state", { state: () => 1 }],
  ])("rejects with a TypeError that names %s", async (name, login) => {
    const starting = open().flow.start(login);
    await expect(starting).rejects.toThrow(TypeError);
    await expect(starting).rejects.toThrow(name);
  });
});

describe("finish", () => {
  test.each<[string, (back: URL) => URL | string]>([
    ["a URL", (back) => back],
    ["an absolute address", (back) => back.href],
    ["path and query", (back) => back.pathname + back.search],
    ["a query", (back) => back.search],
  ])("takes the callback as %s", async (_, form) => {
    const { flow } = open();
    const { url, pending } = await flow.start({ state: { cart: 7 } });
    const outcome = await flow.finish(form(approval(url, "shop")), { pending });
    expect(outcome).toEqual({
      ok: true,
      state: { cart: 7 },
      pending: undefined,
      login: {
        domainPrefix: "shop",
        tokens: expect.objectContaining({ refreshToken: "refresh-shop-1" }),
        params: expect.objectContaining({ access_token: "access-shop-1", domain_prefix: "shop" }),
        profile: { provider: "retail-pos", id: "shop", domainPrefix: "shop", displayName: "shop" },
      },
    });
  });

  test("keeps no tokens: that is the caller's", async () => {
    const store = memoryStore();
    const { flow } = open({ store });
    const { url, pending } = await flow.start();
    await flow.finish(approval(url, "shop"), { pending });
    expect(await store.load("shop" as never)).toBeUndefined();
  });

  test("tells what to keep before the code is sent, and leaves the other logins in it", async () => {
    const { flow, service } = open();
    const one = await flow.start();
    const two = await flow.start({ pending: one.pending });
    const told: unknown[] = [];
    const spent = (pending: string | undefined) => void told.push(pending, service.seen.length);
    const outcome = await flow.finish(approval(one.url, "shop"), { pending: two.pending, spent });
    expect(told).toEqual([outcome.pending, 0]);
    const again = await flow.finish(approval(two.url, "cafe"), { pending: outcome.pending });
    expect(again).toMatchObject({ ok: true, pending: undefined });
  });

  test("rejects with what `spent` throws, and sends nothing", async () => {
    const { flow, service } = open();
    const { url, pending } = await flow.start();
    const boom = new Error("the session could not be saved");
    const spent = () => Promise.reject(boom);
    await expect(flow.finish(approval(url, "shop"), { pending, spent })).rejects.toBe(boom);
    expect(service.seen).toEqual([]);
  });

  test("is not told about a callback that spends nothing", async () => {
    const { flow } = open();
    const { pending } = await flow.start();
    const told: unknown[] = [];
    const spent = (text: string | undefined) => void told.push(text);
    expect(await flow.finish("/callback?error=access_denied", { pending, spent })).toMatchObject({ pending });
    expect(told).toEqual([]);
  });

  test.each<[string, URL | string]>([
    ["an address that cannot be read", "http://["],
    ["no query", "/callback"],
    ["nothing", ""],
    ["an object", {} as never],
    ["nothing at all", undefined as never],
  ])("resolves for %s", async (_, callback) => {
    const { flow } = open();
    expect(await flow.finish(callback, {})).toMatchObject({
      ok: false,
      code: "invalid_callback",
      status: 400,
    });
  });

  test.each<[string, unknown]>([
    ["no JSON", "{"],
    ["null", "null"],
    ["a number", "7"],
    ["a list", "[]"],
    ["logins that are none", '{"of":"the-application","logins":[null,{},{"state":7}]}'],
    ["no text", { logins: [] }],
    ["10 MB", "x".repeat(10_000_000)],
  ])("resolves where what was kept is %s", async (_, pending) => {
    const { flow } = open();
    const { url } = await flow.start();
    const outcome = await flow.finish(approval(url, "shop"), { pending: pending as string });
    expect(outcome).toMatchObject({ ok: false, code: "state_unknown" });
    expect(await flow.start({ pending: pending as string })).toMatchObject({ pending: expect.any(String) });
  });

  test.each<[string, Partial<RetailPosOptions>]>([
    ["another client id", { clientId: "another" }],
    ["another service", { authUrl: "https://login.staging.example.com" }],
    ["another API", { baseUrl: "https://{domain_prefix}.staging.example.com" }],
    ["another port of the service's host", { authUrl: "https://login.example.com:8443" }],
  ])("of %s finds nothing in what was kept", async (_, options) => {
    const [one, two] = [open().flow, open(options).flow];
    const { url, pending } = await one.start();
    expect(await two.finish(approval(url, "shop"), { pending })).toMatchObject({ code: "state_unknown" });
    expect(await one.finish(approval(url, "shop"), { pending })).toMatchObject({ ok: true });
  });

  test("of two flows of one client finishes a login once", async () => {
    const { client, service } = open();
    const flows = [loginFlow({ client }), loginFlow({ client })];
    const { url, pending } = await (flows[0] as (typeof flows)[0]).start();
    const outcomes = await Promise.all(flows.map((flow) => flow.finish(approval(url, "shop"), { pending })));
    expect(outcomes.map(({ ok }) => ok).sort()).toEqual([false, true]);
    expect(service.seen).toHaveLength(1);
  });

  test("drops a login that took too long from what is kept", async () => {
    const time = { now: 0 };
    const { flow } = open({}, { clock: () => time.now });
    const { url, pending } = await flow.start();
    time.now += 15 * MINUTE_MS;
    expect(await flow.finish(approval(url, "shop"), { pending })).toMatchObject({
      code: "state_expired",
      pending: undefined,
    });
  });

  test("resolves with core's error, its status and its headers", async () => {
    const { flow, service } = open();
    service.next(() => new Response("", { status: 429 }));
    const { url, pending } = await flow.start();
    const outcome = await flow.finish(approval(url, "shop"), { pending });
    expect(outcome).toMatchObject({
      ok: false,
      code: "rate_limited",
      status: 503,
      headers: { "Retry-After": expect.any(String) },
      error: { code: "rate_limited" },
      pending: undefined,
    });
  });

  test("resolves for a refused code with core's error beside it", async () => {
    const { flow, service } = open();
    service.next(() => oauthError("invalid_grant"));
    const { url, pending } = await flow.start();
    expect(await flow.finish(approval(url, "shop"), { pending })).toMatchObject({
      code: "code_refused",
      status: 403,
      error: { code: "token_endpoint_failed", error: "invalid_grant" },
    });
  });

  test("resolves for an error that is nobody's", async () => {
    const boom = new TypeError("of the application's own client");
    const client = { ...open().client, exchange: () => Promise.reject(boom) };
    const flow = loginFlow({ client });
    const { url, pending } = await flow.start();
    expect(await flow.finish(approval(url, "shop"), { pending })).toMatchObject({
      ok: false,
      status: 502,
      error: boom,
      message: expect.not.stringContaining("own client"),
    });
  });

  test("resolves for a retailer that the application does not accept", async () => {
    const refused = Object.assign(new Error("no"), { code: "retailer_not_accepted", status: 403 });
    Object.defineProperty(refused, Symbol.for("@retail-pos/core/error"), { value: true });
    const client = { ...open().client, exchange: () => Promise.reject(refused) };
    const flow = loginFlow({ client });
    const { url, pending } = await flow.start();
    expect(await flow.finish(approval(url, "shop"), { pending })).toMatchObject({
      code: "retailer_not_accepted",
      status: 403,
    });
  });
});

test.each<[string, object, RegExp]>([
  ["no client", {}, /client/],
  ["a client that is a promise", { client: Promise.resolve({}) }, /client/],
  ["a misspelt clock", { client: open().client, clok: Date.now }, /^clok .* called clock here$/],
  [
    "a verify, as webLogin has it",
    { client: open().client, verify: () => true },
    /called outcome\.state here$/,
  ],
  ["a clock that is none", { client: open().client, clock: 7 }, /clock/],
])("a flow with %s is a TypeError", (_, options, message) => {
  expect(() => loginFlow(options as LoginFlowOptions)).toThrow(TypeError);
  expect(() => loginFlow(options as LoginFlowOptions)).toThrow(message);
});

function open(options: Partial<RetailPosOptions> = {}, flowOptions: Partial<LoginFlowOptions> = {}) {
  const service = fakeService();
  const client = retailPos({ ...APPLICATION, redirectUri: CALLBACK, fetch: service.fetch, ...options });
  return { client, service, flow: loginFlow({ client, ...flowOptions }) };
}
