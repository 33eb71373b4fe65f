import { expect, test } from "vitest";
import { type Client, startClient } from "../../testing/client.js";
import { virtualClock } from "../index.js";

test("before the first login the page says what to do next", async () => {
  const client = await startClient();
  const page = await textOf(client, "/");
  expect(page).toContain("No store is connected yet");
  expect(page).toContain("0 of 6 with access");
  expect(page).toContain(client.sandbox.application.clientSecret);
  for (const { name } of client.sandbox.stores) expect(page).toContain(name.replace("'", "&#39;"));
});

test("it shows the last four characters of a token, and never more", async () => {
  const client = await startClient();
  const { access_token, refresh_token } = await client.login();
  const personal = client.sandbox.createPersonalToken(client.store);
  const page = await textOf(client, "/");
  for (const token of [access_token, refresh_token, personal]) {
    expect(page).toContain(`••••${token.slice(-4)}`);
    expect(page).not.toContain(token.slice(-8));
  }
});

test("a client secret of your own is not shown", async () => {
  const client = await startClient({ clientSecret: "canary-client-secret" });
  expect(await textOf(client, "/")).not.toContain("canary-client-secret");
});

test("programs read the request log as JSON, without a secret and without the console's own requests", async () => {
  const client = await startClient();
  await client.login();
  await textOf(client, "/");
  const answer = await fetch(`${client.sandbox.url}/console/requests`);
  expect(answer.headers.get("content-type")).toContain("application/json");
  expect(await answer.json()).toEqual([...client.sandbox.requests]);
  expect(client.sandbox.tokenRequests()).toHaveLength(1);
});

test("it cannot be framed, and runs no script but its own", async () => {
  const { sandbox } = await startClient();
  const { headers } = await fetch(sandbox.url);
  expect(headers.get("x-frame-options")).toBe("DENY");
  expect(headers.get("content-security-policy")).toMatch(
    /default-src 'none'.*frame-ancestors 'none'.*script-src 'self'/,
  );
  expect(headers.get("cache-control")).toBe("no-store");
});

test("it needs nothing from elsewhere", async () => {
  const client = await startClient();
  const page = (await textOf(client, "/")) + (await textOf(client, "/sandbox.css"));
  const { redirectUri } = client.sandbox.application;
  const elsewhere = [...page.matchAll(/(?:src|href)="(https?:[^"]+)"|url\(([^)]+)\)/g)].map(
    (match) => match[1] ?? match[2],
  );
  const known = [new URL(redirectUri).origin, client.sandbox.url];
  expect(elsewhere.filter((url) => !known.some((origin) => url?.startsWith(origin)))).toEqual([]);
});

const buttons: [
  action: string,
  user: string | undefined,
  effect: (client: Client, token: string) => Promise<unknown>,
  expected: unknown,
][] = [
  ["expire", undefined, async (c) => c.sandbox.liveTokens(c.store).access, 0],
  ["refuse", undefined, async (c) => c.sandbox.liveTokens(c.store).refresh, 0],
  ["limit", undefined, async (c) => (await c.post({})).status, 429],
  [
    "tokenAnswers500",
    undefined,
    async (c) => [(await c.post({})).status, (await c.post({})).status],
    [500, 500],
  ],
  ["apiAnswers401", undefined, apiStatuses, [401, 401]],
  ["apiAnswers429", undefined, apiStatuses, [429, 429]],
  ["apiAnswers500", undefined, apiStatuses, [500, 500]],
  ["apiIsSilent", undefined, apiStatuses, ["silent", "silent"]],
  ["createPersonalToken", "manager", async (c, token) => c.sandbox.accepts(c.store, token), true],
  ["resetPassword", "owner", async (c) => c.sandbox.liveTokens(c.store).personal, 0],
];
for (const [action, user, effect, expected] of buttons) {
  test(`the button ${action} works, and heal mends what can be mended`, async () => {
    const client = await startClient();
    await client.login();
    client.sandbox.createPersonalToken(client.store, "owner");
    const response = await press(client, { action, domainPrefix: client.store, user });
    expect(response.status).toBe(200);
    const { said, token } = (await response.json()) as { said: string; token?: string };
    expect(said).toMatch(/\w/);
    expect(await effect(client, token ?? "")).toEqual(expected);
    await press(client, { action: "heal", domainPrefix: client.store });
    expect((await client.exchange(client.codeFor())).status).toBe(200);
    expect(await apiStatuses(client)).toEqual([200, 200]);
  });
}

test("while the API answers with a fault, its other buttons are disabled, and the token endpoint's are not", async () => {
  const client = await startClient({ stores: 1 });
  const disabled = async () =>
    [...(await textOf(client, "/")).matchAll(/data-action="(api\w+|token\w+)" class="" disabled/g)].map(
      ([, action]) => action,
    );
  expect(await disabled()).toEqual([]);
  await press(client, { action: "apiAnswers500", domainPrefix: client.store });
  expect(await disabled()).toEqual(["apiAnswers401", "apiAnswers429", "apiAnswers500", "apiIsSilent"]);
  await press(client, { action: "heal", domainPrefix: client.store });
  await press(client, { action: "tokenAnswers500", domainPrefix: client.store });
  expect(await disabled()).toEqual(["tokenAnswers500"]);
});

test("after heal it says until when the application remembers a 429, until it asks again", async () => {
  const clock = virtualClock();
  const client = await startClient({ clock });
  await client.login();
  const heal = async () => {
    const answer = await press(client, { action: "heal", domainPrefix: client.store });
    return ((await answer.json()) as { said: string }).said;
  };
  const memory = /remembers the 429 until \d\d:\d\d:\d\d/;

  client.sandbox.limit(client.store, 60_000);
  expect(await heal()).not.toMatch(memory); // nobody has met it

  client.sandbox.limit(client.store, 60_000);
  await client.refresh("whichever");
  expect(await textOf(client, "/")).not.toMatch(memory); // the limit itself is shown
  expect(await heal()).toMatch(memory);
  expect(await textOf(client, "/")).toMatch(memory);
  clock.advance(60_000);
  expect(await textOf(client, "/")).not.toMatch(memory);

  client.sandbox.limit(client.store, 60_000);
  await client.refresh("whichever");
  await heal();
  await client.refresh("whichever");
  expect(await textOf(client, "/")).not.toMatch(memory);
});

test("a 429 that a fault answers is remembered as well", async () => {
  const client = await startClient();
  client.sandbox.fault(429);
  await client.refresh("whichever");
  expect(await textOf(client, "/")).toContain("remembers the 429 until");
  client.sandbox.fault(429, { endpoint: "api", domainPrefix: "rosas-bikes" });
  await client.call("/api/products", undefined, {}, "rosas-bikes");
  expect((await textOf(client, "/")).match(/remembers the 429/g)).toHaveLength(1); // the API's says nothing of tokens
});

const refusals: [what: string, headers: Record<string, string>, status: number][] = [
  ["without the page's token", { "x-page-token": "" }, 403],
  ["with a guessed token", { "x-page-token": "guess" }, 403],
  ["from another site", { origin: "http://evil.example" }, 403],
  ["from another port of this machine", { origin: "http://127.0.0.1:1" }, 403],
  ["from a sandboxed frame", { origin: "null" }, 403],
  ["that a browser calls cross-site", { "sec-fetch-site": "cross-site" }, 403],
  ["that a browser calls same-site", { "sec-fetch-site": "same-site" }, 403],
  ["as a form", { "content-type": "application/x-www-form-urlencoded" }, 415],
];
for (const [what, headers, status] of refusals) {
  test(`a button pressed ${what} does nothing`, async () => {
    const client = await startClient();
    await client.login();
    const response = await press(client, { action: "expire", domainPrefix: client.store }, headers);
    expect(response.status).toBe(status);
    expect(client.sandbox.liveTokens(client.store).access).toBe(1);
  });
}

test.each([
  [{ action: "explode", domainPrefix: "harbour-coffee" }],
  [{ action: "constructor", domainPrefix: "harbour-coffee" }],
  [{ action: "expire", domainPrefix: "nobody" }],
  [{ action: "createPersonalToken", domainPrefix: "harbour-coffee", user: "cashier" }],
])("a button that makes no sense is a 400: %j", async (body) => {
  const client = await startClient();
  expect((await press(client, body)).status).toBe(400);
});

test("what happens arrives as events, without secrets", async () => {
  const client = await startClient();
  const events = await fetch(`${client.sandbox.url}/console/events`);
  expect(events.headers.get("content-type")).toBe("text/event-stream");
  const { access_token, refresh_token } = await client.login();
  const seen = await readUntil(
    events,
    (text) => text.includes("Has access") && text.includes("authorization_code"),
  );
  expect(seen).toContain(`event: request`);
  expect(seen).toContain(`"id":"store-${client.store}"`);
  expect(seen).toContain("1 of 6 with access");
  for (const token of [access_token, refresh_token]) expect(seen).not.toContain(token);
});

test("events are for the console's own page", async () => {
  const { sandbox } = await startClient();
  const response = await fetch(`${sandbox.url}/console/events`, {
    headers: { origin: "http://evil.example" },
  });
  expect(response.headers.get("content-type")).not.toBe("text/event-stream");
});

test("the page's script is a script", async () => {
  const client = await startClient();
  const script = await textOf(client, "/sandbox.js");
  expect(() => new Function(script)).not.toThrow();
});

async function textOf({ sandbox }: Client, path: string): Promise<string> {
  return (await fetch(sandbox.url + path)).text();
}

async function press(client: Client, body: object, headers: Record<string, string> = {}): Promise<Response> {
  const token = /name="page-token" content="([^"]+)"/.exec(await textOf(client, "/"))?.[1] ?? "";
  return fetch(`${client.sandbox.url}/console/actions`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-page-token": token, ...headers },
    body: JSON.stringify(body),
  });
}

async function readUntil(response: Response, isEnough: (text: string) => boolean): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    text += decoder.decode(chunk, { stream: true });
    if (isEnough(text)) break;
  }
  return text;
}

/** What two calls of the API are answered. */
async function apiStatuses({ sandbox, call, store }: Client): Promise<(number | "silent")[]> {
  const bearer = sandbox.createPersonalToken(store);
  const status = async () => {
    const { length } = sandbox.requests;
    const leaving = new AbortController();
    const answer = call("/api/retailer", bearer, { signal: leaving.signal }).then(
      (response) => response.status,
      () => "silent" as const,
    );
    await expect.poll(() => sandbox.requests).toHaveLength(length + 1);
    if (sandbox.requests.at(-1)?.fault === "silence") leaving.abort();
    return answer;
  };
  return [await status(), await status()];
}
