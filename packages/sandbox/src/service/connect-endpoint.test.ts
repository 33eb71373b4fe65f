import { expect, test } from "vitest";
import { type Client, startClient } from "../../testing/client.js";
import { virtualClock } from "../index.js";

const refused: [what: string, query: (client: Client) => string, words: RegExp][] = [
  ["without a response_type", (c) => without(c, "response_type"), /response_type/],
  ["without a client_id", (c) => without(c, "client_id"), /client_id/],
  ["without a redirect_uri", (c) => without(c, "redirect_uri"), /redirect_uri/],
  ["without a state", (c) => without(c, "state"), /state/],
  ["with an empty state", (c) => changed(c, { state: "" }), /state/],
  ["with a state of 7 characters", (c) => changed(c, { state: "1234567" }), /8 characters/],
  ["with 4 emoji for a state", (c) => changed(c, { state: "🧾🧾🧾🧾" }), /8 characters/],
  ["with another response_type", (c) => changed(c, { response_type: "token" }), /response_type/],
  ["of an unknown application", (c) => changed(c, { client_id: "somebody" }), /client_id/],
  ["with another redirect_uri", (c) => changed(c, { redirect_uri: "http://evil.example/" }), /redirect_uri/],
  ["with a parameter more in its redirect_uri", (c) => withRedirect(c, "?more=1"), /redirect_uri/],
  ["with a slash more in its redirect_uri", (c) => withRedirect(c, "/"), /redirect_uri/],
  ["with two states", (c) => `${changed(c)}&state=another-state`, /state was sent more than once/],
  ["with two other parameters", (c) => `${changed(c)}&a=1&a=2`, /more than once/],
];
for (const [what, query, words] of refused) {
  test(`an authorization request ${what} gets a page that says so, and no redirect`, async () => {
    const client = await startClient();
    const response = await fetch(`${client.sandbox.authUrl}/connect?${query(client)}`, {
      redirect: "manual",
    });
    expect(response.status).toBe(400);
    expect(response.headers.get("location")).toBeNull();
    expect(await response.text()).toMatch(words);
    expect(() =>
      client.sandbox.consent(`${client.sandbox.authUrl}/connect?${query(client)}`, client.store),
    ).toThrow(words);
  });
}

test("a wrong redirect_uri is shown beside the registered one, as text", async () => {
  const client = await startClient();
  const { authUrl, application } = client.sandbox;
  const query = changed(client, { redirect_uri: "http://localhost:4444/<b>" });
  const page = await (await fetch(`${authUrl}/connect?${query}`)).text();
  expect(page).toContain(application.redirectUri);
  expect(page).toContain("http://localhost:4444/&#60;b&#62;");
});

test("the consent page lists the stores and cannot be framed, cached, or made to run a script", async () => {
  const client = await startClient();
  const { response, page } = await openPage(client);
  expect(response.status).toBe(200);
  for (const { domainPrefix } of client.sandbox.stores) expect(page).toContain(`value="${domainPrefix}"`);
  expect(response.headers.get("cache-control")).toBe("no-store");
  expect(response.headers.get("x-frame-options")).toBe("DENY");
  const policy = response.headers.get("content-security-policy") ?? "";
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).not.toMatch(/script-src|form-action/);
});

test("approving sends the browser to the callback with code, domain_prefix and state, and nothing else", async () => {
  const client = await startClient();
  const state = "odd state & more=1 é";
  const response = await decide(client, { store: client.store, decision: "approve" }, { state });
  expect(response.status).toBe(302);
  const callback = new URL(response.headers.get("location") ?? "");
  expect(callback.origin + callback.pathname).toBe(client.sandbox.application.redirectUri);
  expect([...callback.searchParams.keys()].sort()).toEqual(["code", "domain_prefix", "state"]);
  expect(callback.searchParams.get("state")).toBe(state);
  expect(callback.searchParams.get("domain_prefix")).toBe(client.store);
  expect((await client.exchange(callback.searchParams.get("code") ?? "")).status).toBe(200);
});

test("declining sends the browser to the callback with error=access_denied alone", async () => {
  const client = await startClient();
  const response = await decide(client, { decision: "decline" });
  expect(response.status).toBe(302);
  expect(response.headers.get("location")).toBe(
    `${client.sandbox.application.redirectUri}?error=access_denied`,
  );
  expect(client.sandbox.decline().href).toBe(response.headers.get("location"));
});

test("a registered address keeps its own query", async () => {
  const client = await startClient({ redirectUri: "http://localhost:3000/callback?app=1" });
  const response = await decide(client, { store: client.store, decision: "approve" });
  expect(response.headers.get("location")).toMatch(/^http:\/\/localhost:3000\/callback\?app=1&code=/);
});

test("a consent page is answered once", async () => {
  const client = await startClient();
  const { page } = await openPage(client);
  const answer = { request: requestIdOf(page), store: client.store, decision: "approve" };
  expect((await submit(client, answer)).status).toBe(302);
  const again = await submit(client, answer);
  expect(again.status).toBe(400);
  expect(again.headers.get("location")).toBeNull();
});

test("a consent page that lay open for an hour is not answered", async () => {
  const clock = virtualClock();
  const client = await startClient({ clock });
  const { page } = await openPage(client);
  clock.advance(3_600_000);
  expect(
    (await submit(client, { request: requestIdOf(page), store: client.store, decision: "approve" })).status,
  ).toBe(400);
});

const badAnswers: [
  what: string,
  answer: (id: string, store: string) => string,
  headers: Record<string, string>,
  status: number,
][] = [
  ["for a page nobody was shown", (_id, store) => `request=guess&store=${store}&decision=approve`, {}, 400],
  ["without a page", (_id, store) => `store=${store}&decision=approve`, {}, 400],
  ["without a store", (id) => `request=${id}&decision=approve`, {}, 400],
  ["for a store that is not there", (id) => `request=${id}&store=nobody&decision=approve`, {}, 400],
  ["without a decision", (id, store) => `request=${id}&store=${store}`, {}, 400],
  ["with two stores", (id, store) => `request=${id}&store=${store}&store=other&decision=approve`, {}, 400],
  [
    "from another site",
    (id, store) => `request=${id}&store=${store}&decision=approve`,
    { origin: "http://evil.example" },
    403,
  ],
  [
    "from a sandboxed frame",
    (id, store) => `request=${id}&store=${store}&decision=approve`,
    { origin: "null" },
    403,
  ],
  [
    "of another type",
    (id, store) => `request=${id}&store=${store}&decision=approve`,
    { "content-type": "text/plain" },
    400,
  ],
];
for (const [what, answer, headers, status] of badAnswers) {
  test(`an answer ${what} approves nothing`, async () => {
    const client = await startClient();
    const { page } = await openPage(client);
    const response = await fetch(`${client.sandbox.authUrl}/connect`, {
      method: "POST",
      redirect: "manual",
      headers: { "content-type": "application/x-www-form-urlencoded", ...headers },
      body: answer(requestIdOf(page), client.store),
    });
    expect(response.status).toBe(status);
    expect(response.headers.get("location")).toBeNull();
  });
}

test("an application that is not approved can be connected to 30 stores, each as often as it likes", async () => {
  const client = await startClient({ stores: 31 });
  const [last, ...others] = [...client.sandbox.stores].reverse().map((store) => store.domainPrefix);
  for (const domainPrefix of others) client.sandbox.approve(domainPrefix);
  expect(() => client.sandbox.approve(last ?? "")).toThrow(/not approved/);
  const response = await decide(client, { store: last ?? "", decision: "approve" });
  expect(response.status).toBe(403);
  expect(await response.text()).toMatch(/30 stores/);
  expect((await decide(client, { store: others[0] ?? "", decision: "approve" })).status).toBe(302);
});

test("an approved application can be connected to as many stores as there are", async () => {
  const client = await startClient({ stores: 40, approved: true });
  for (const { domainPrefix } of client.sandbox.stores) client.sandbox.approve(domainPrefix);
  expect((await decide(client, { store: "corner-store-40", decision: "approve" })).status).toBe(302);
});

test("what people named their things is text, not HTML", async () => {
  const name = `<img src=x onerror=alert(1)> & "quoted" 'too'`;
  const client = await startClient({ clientId: "<script>", stores: [{ domainPrefix: "a", name }] });
  const { page } = await openPage(client);
  const problem = await (
    await fetch(
      `${client.sandbox.authUrl}/connect?${encodeURIComponent("<script>")}=1&${encodeURIComponent("<script>")}=2`,
    )
  ).text();
  const console = await (await fetch(client.sandbox.url)).text();
  for (const text of [page, problem, console]) {
    expect(text).not.toContain("<script>");
    expect(text).not.toContain("<img");
  }
});

test("other methods are not allowed", async () => {
  const { sandbox } = await startClient();
  const response = await fetch(`${sandbox.authUrl}/connect`, { method: "PUT" });
  expect(response.status).toBe(405);
  expect(response.headers.get("allow")).toContain("GET");
});

const changed = (client: Client, changes: Record<string, string> = {}) =>
  client.authorizationQuery(changes).toString();
const withRedirect = (client: Client, more: string) =>
  changed(client, { redirect_uri: client.sandbox.application.redirectUri + more });

function without(client: Client, name: string): string {
  const query = client.authorizationQuery();
  query.delete(name);
  return query.toString();
}

async function openPage(client: Client, changes: Record<string, string> = {}) {
  const response = await fetch(`${client.sandbox.authUrl}/connect?${changed(client, changes)}`);
  return { response, page: await response.text() };
}

const requestIdOf = (page: string) => /name="request" value="([^"]+)"/.exec(page)?.[1] ?? "";

function submit(client: Client, answer: Record<string, string>): Promise<Response> {
  const body = new URLSearchParams(answer);
  return fetch(`${client.sandbox.authUrl}/connect`, { method: "POST", redirect: "manual", body });
}

async function decide(client: Client, answer: Record<string, string>, changes: Record<string, string> = {}) {
  const { page } = await openPage(client, changes);
  return submit(client, { request: requestIdOf(page), ...answer });
}
