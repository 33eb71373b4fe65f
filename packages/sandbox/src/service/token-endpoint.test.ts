import { expect, test } from "vitest";
import { type Client, startClient, type WireTokens } from "../../testing/client.js";
import { virtualClock } from "../index.js";

const form = "application/x-www-form-urlencoded";
const refused: [
  what: string,
  init: (client: Client) => [RequestInit, search?: string],
  status: number,
  error: string,
][] = [
  ["a GET", () => [{ method: "GET" }], 405, "method_not_allowed"],
  ["a PUT", (c) => [{ method: "PUT", body: body(c) }], 405, "method_not_allowed"],
  [
    "JSON",
    (c) => [
      { body: JSON.stringify(Object.fromEntries(body(c))), headers: { "content-type": "application/json" } },
    ],
    415,
    "invalid_request",
  ],
  ["no content type", (c) => [{ body: new TextEncoder().encode(String(body(c))) }], 415, "invalid_request"],
  ["parameters in the query", (c) => [{ body: body(c) }, `?${body(c)}`], 400, "invalid_request"],
  ["a harmless query", (c) => [{ body: body(c) }, "?a=1"], 400, "invalid_request"],
  ["a body too long", (c) => [{ body: body(c, { more: "x".repeat(70_000) }) }], 413, "invalid_request"],
  [
    "a repeated parameter",
    (c) => [{ body: `${body(c)}&code=another`, headers: { "content-type": form } }],
    400,
    "invalid_request",
  ],
  ["no client_id", (c) => [{ body: body(c, { client_id: "" }) }], 401, "invalid_client"],
  ["no client_secret", (c) => [{ body: body(c, { client_secret: "" }) }], 401, "invalid_client"],
  ["a wrong client_id", (c) => [{ body: body(c, { client_id: "somebody" }) }], 401, "invalid_client"],
  ["a wrong client_secret", (c) => [{ body: body(c, { client_secret: "guess" }) }], 401, "invalid_client"],
  [
    "credentials in the header",
    (c) => [{ body: body(c, { client_secret: "" }), headers: { authorization: "Basic YTpi" } }],
    401,
    "invalid_client",
  ],
  [
    "credentials in both places",
    (c) => [{ body: body(c), headers: { authorization: "Basic YTpi" } }],
    400,
    "invalid_request",
  ],
  ["no grant_type", (c) => [{ body: body(c, { grant_type: "" }) }], 400, "invalid_request"],
  [
    "another grant_type",
    (c) => [{ body: body(c, { grant_type: "client_credentials" }) }],
    400,
    "unsupported_grant_type",
  ],
  ["no code", (c) => [{ body: body(c, { code: "" }) }], 400, "invalid_request"],
  ["no redirect_uri", (c) => [{ body: body(c, { redirect_uri: "" }) }], 400, "invalid_request"],
  [
    "another redirect_uri",
    (c) => [{ body: body(c, { redirect_uri: "http://localhost:3000/" }) }],
    400,
    "invalid_grant",
  ],
  ["an unknown code", (c) => [{ body: body(c, { code: "guess" }) }], 400, "invalid_grant"],
  ["no refresh_token", (c) => [{ body: body(c, { grant_type: "refresh_token" }) }], 400, "invalid_request"],
  [
    "an unknown refresh token",
    (c) => [{ body: body(c, { grant_type: "refresh_token", refresh_token: "x" }) }],
    400,
    "invalid_grant",
  ],
];
for (const [what, make, status, error] of refused) {
  test(`${what}: ${status} ${error}, and the code is still good`, async () => {
    const client = await startClient();
    const code = client.codeFor();
    const [init, search = ""] = make(client);
    const response = await fetch(client.tokenUrl() + search, { method: "POST", ...withCode(init, code) });
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ error });
    expect(response.headers.get("cache-control")).toBe("no-store");
    expectRateLimit(response);
    expect((await client.exchange(code)).status).toBe(200);
  });
}

test("a code brings the token response of the spec, times in seconds", async () => {
  const clock = virtualClock(1_700_000_000_400);
  const client = await startClient({ clock, lifetimeMs: 3_600_000 });
  const response = await client.exchange(client.codeFor());
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toMatch(/^application\/json/);
  expect(response.headers.get("cache-control")).toBe("no-store");
  expect(await response.json()).toEqual({
    access_token: expect.stringMatching(/^[\w-]{40,}$/),
    token_type: "Bearer",
    expires: 1_700_003_600,
    expires_in: 3600,
    refresh_token: expect.stringMatching(/^[\w-]{40,}$/),
    domain_prefix: client.store,
  });
});

test("a code is good once; when it comes again, what it brought ends", async () => {
  const client = await startClient();
  const code = client.codeFor();
  const tokens = (await (await client.exchange(code)).json()) as WireTokens;
  const again = await client.exchange(code);
  expect([again.status, await again.json()]).toEqual([
    400,
    expect.objectContaining({ error: "invalid_grant" }),
  ]);
  expect(client.sandbox.liveTokens(client.store)).toEqual({ access: 0, refresh: 0, personal: 0 });
  expect((await client.call("/api/products", tokens.access_token)).status).toBe(401);
});

test.each([
  [600_000, 200],
  [600_001, 400],
])("a code that is %i ms old: %i", async (age, status) => {
  const clock = virtualClock();
  const client = await startClient({ clock });
  const code = client.codeFor();
  clock.advance(age);
  expect((await client.exchange(code)).status).toBe(status);
});

test("a code of one store is refused at another, and still good at its own", async () => {
  const client = await startClient();
  const code = client.codeFor("harbour-coffee");
  expect((await client.exchange(code, "rosas-bikes")).status).toBe(400);
  expect((await client.exchange(code, "harbour-coffee")).status).toBe(200);
});

test("a refresh token of one store is refused at another", async () => {
  const client = await startClient();
  const { refresh_token } = await client.login("harbour-coffee");
  expect((await client.refresh(refresh_token, "rosas-bikes")).status).toBe(400);
  expect((await client.refresh(refresh_token, "harbour-coffee")).status).toBe(200);
});

test("rotation always: every refresh brings a new refresh token; the spent one and its access token end", async () => {
  const client = await startClient();
  const first = await client.login();
  const second = await renewed(client, first.refresh_token);
  const third = await renewed(client, second.refresh_token);
  expect(new Set([first.refresh_token, second.refresh_token, third.refresh_token]).size).toBe(3);
  for (const spent of [first, second]) {
    expect(await (await client.refresh(spent.refresh_token ?? "")).json()).toMatchObject({
      error: "invalid_grant",
    });
    expect((await client.call("/api/products", spent.access_token)).status).toBe(401);
  }
  expect((await client.call("/api/products", third.access_token)).status).toBe(200);
});

test("rotation never: the field is absent, the first refresh token stays good, and so do access tokens", async () => {
  const client = await startClient({ rotation: "never" });
  const first = await client.login();
  for (let renewal = 0; renewal < 3; renewal += 1) {
    const next = await renewed(client, first.refresh_token);
    expect(next).not.toHaveProperty("refresh_token");
    expect((await client.call("/api/products", next.access_token)).status).toBe(200);
  }
  expect((await client.call("/api/products", first.access_token)).status).toBe(200);
});

test("rotation sometimes: every other refresh brings a new refresh token, otherwise the field is absent", async () => {
  const client = await startClient({ rotation: "sometimes" });
  let { refresh_token } = await client.login();
  const rotated: boolean[] = [];
  for (let renewal = 0; renewal < 4; renewal += 1) {
    const next = await renewed(client, refresh_token);
    rotated.push("refresh_token" in next);
    refresh_token = next.refresh_token ?? refresh_token;
  }
  expect(rotated).toEqual([true, false, true, false]);
});

test("two refreshes at once with the same token: one gets through", async () => {
  const client = await startClient();
  const { refresh_token } = await client.login();
  const statuses = await Promise.all([1, 2, 3].map(async () => (await client.refresh(refresh_token)).status));
  expect(statuses.sort()).toEqual([200, 400, 400]);
});

test("two logins of one store are both good", async () => {
  const client = await startClient();
  const [first, second] = [await client.login(), await client.login()];
  expect(client.sandbox.accepts(client.store, first.refresh_token)).toBe(true);
  expect(client.sandbox.accepts(client.store, second.refresh_token)).toBe(true);
});

test("the rate limit counts down per store, ends in 429, and starts again when it said", async () => {
  const clock = virtualClock(1_700_000_000_500);
  const client = await startClient({ clock, rateLimit: { limit: 2, windowMs: 10_000 } });
  const seen: unknown[] = [];
  for (let request = 0; request < 3; request += 1) {
    const response = await client.post({ grant_type: "nonsense" });
    seen.push([response.status, ...rateLimitOf(response)]);
  }
  expect(seen).toEqual([
    [400, "2", "1", "1700000011"],
    [400, "2", "0", "1700000011"],
    [429, "2", "0", "1700000011"],
  ]);
  expect((await client.post({ grant_type: "nonsense" }, "rosas-bikes")).status).toBe(400);
  clock.advance(10_500);
  expect((await client.post({ grant_type: "nonsense" })).status).toBe(400);
});

test("a request over the limit does nothing", async () => {
  const client = await startClient({ rateLimit: { limit: 1, windowMs: 10_000 } });
  const { refresh_token } = await client.login();
  expect((await client.refresh(refresh_token)).status).toBe(429);
  expect(client.sandbox.accepts(client.store, refresh_token)).toBe(true);
});

test("a store that is not there is a 404, with the rate limit's headers", async () => {
  const client = await startClient();
  const response = await client.post({}, "nobody");
  expect(response.status).toBe(404);
  expectRateLimit(response);
});

test("a form may name its charset", async () => {
  const client = await startClient();
  const response = await fetch(client.tokenUrl(), {
    method: "POST",
    headers: { "content-type": "Application/X-WWW-Form-URLencoded; charset=UTF-8" },
    body: String(body(client, { code: client.codeFor() })),
  });
  expect(response.status).toBe(200);
});

const standIn = "THE-CODE";

test("a service that refuses early renews a token once it has ended, with the same refresh token", async () => {
  const clock = virtualClock();
  const client = await startClient({ clock, refusesEarly: true, lifetimeMs: 60_000 });
  const { refresh_token: refreshToken = "" } = await client.login();
  for (const waitMs of [0, 59_999]) {
    clock.advance(waitMs);
    const early = await client.refresh(refreshToken);
    expect([early.status, await early.json()]).toMatchObject([400, { error: "invalid_grant" }]);
  }
  clock.advance(1);
  const next = await renewed(client, refreshToken);
  expect((await client.refresh(next.refresh_token ?? "")).status).toBe(400);
});

function body(client: Client, changes: Record<string, string> = {}): URLSearchParams {
  const { redirectUri } = client.sandbox.application;
  const fields = { grant_type: "authorization_code", code: standIn, redirect_uri: redirectUri };
  return new URLSearchParams({ ...client.credentials, ...fields, ...changes });
}

/** The rows of the table do not know the code yet. */
function withCode(init: RequestInit, code: string): RequestInit {
  if (init.body instanceof URLSearchParams) {
    return { ...init, body: new URLSearchParams(String(init.body).replace(standIn, code)) };
  }
  return typeof init.body === "string" ? { ...init, body: init.body.replace(standIn, code) } : init;
}

async function renewed(client: Client, refreshToken = ""): Promise<WireTokens> {
  const response = await client.refresh(refreshToken);
  expect(response.status).toBe(200);
  return (await response.json()) as WireTokens;
}

const rateLimitOf = ({ headers }: Response) =>
  ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"].map((name) => headers.get(name));

function expectRateLimit(response: Response): void {
  for (const value of rateLimitOf(response)) expect(value).toMatch(/^\d+$/);
}
