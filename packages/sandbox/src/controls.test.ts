import { expect, test } from "vitest";
import { startClient } from "../testing/client.js";
import { virtualClock } from "./index.js";

test("approve makes a callback a code can be taken from, with any state and a random one of its own", async () => {
  const client = await startClient();
  const callback = client.sandbox.approve(client.store, "my-state");
  expect(callback.searchParams.get("state")).toBe("my-state");
  expect(client.sandbox.approve(client.store).searchParams.get("state")?.length).toBeGreaterThan(8);
  expect((await client.exchange(callback.searchParams.get("code") ?? "")).status).toBe(200);
});

test("approve with another address binds the code to it", async () => {
  const client = await startClient();
  const callback = client.sandbox.approve(client.store, undefined, "http://localhost:9/other");
  const code = callback.searchParams.get("code") ?? "";
  expect(callback.origin).toBe("http://localhost:9");
  expect((await client.exchange(code)).status).toBe(400);
  const response = await client.post({
    grant_type: "authorization_code",
    code,
    redirect_uri: "http://localhost:9/other",
  });
  expect(response.status).toBe(200);
});

test("consent approves what an authorization request asks", async () => {
  const client = await startClient();
  const url = `${client.sandbox.authUrl}/connect?${client.authorizationQuery({ state: "state-of-the-app" })}`;
  expect(client.sandbox.consent(url, client.store).searchParams.get("state")).toBe("state-of-the-app");
});

test("expire ends the access tokens of one store; refreshing works", async () => {
  const client = await startClient();
  const here = await client.login();
  const there = await client.login("rosas-bikes");
  expect(client.sandbox.expire(client.store)).toBe(1);
  expect((await client.call("/api/products", here.access_token)).status).toBe(401);
  expect(client.sandbox.accepts("rosas-bikes", there.access_token)).toBe(true);
  expect((await client.refresh(here.refresh_token)).status).toBe(200);
});

test("refuse ends the refresh tokens of one store; the access token lives, and a new login is good", async () => {
  const client = await startClient();
  const { access_token, refresh_token } = await client.login();
  expect(client.sandbox.refuse(client.store)).toBe(1);
  expect(await (await client.refresh(refresh_token)).json()).toMatchObject({ error: "invalid_grant" });
  expect((await client.call("/api/products", access_token)).status).toBe(200);
  const again = await client.login();
  expect((await client.refresh(again.refresh_token)).status).toBe(200);
});

test("limit answers 429 for as long as asked, with the reset it will keep", async () => {
  const clock = virtualClock(1_700_000_000_000);
  const client = await startClient({ clock });
  const { refresh_token } = await client.login();
  client.sandbox.limit(client.store, 5000);
  const response = await client.refresh(refresh_token);
  expect(response.status).toBe(429);
  expect(response.headers.get("x-ratelimit-remaining")).toBe("0");
  expect(response.headers.get("x-ratelimit-reset")).toBe("1700000005");
  clock.advance(5000);
  expect((await client.refresh(refresh_token)).status).toBe(200);
});

test("changeClientSecret refuses the old secret, and nothing else", async () => {
  const { sandbox, store } = await startClient();
  const { clientSecret: old, clientId, redirectUri } = sandbox.application;
  const code = sandbox.approve(store).searchParams.get("code") ?? "";
  const secret = "a new client secret";
  sandbox.changeClientSecret(secret);
  expect({ ...sandbox.application }).toEqual({ clientId, clientSecret: secret, redirectUri });
  const exchange = (client_secret: string) =>
    fetch(`${sandbox.baseUrl.replace("{domain_prefix}", store)}/api/1.0/token`, {
      method: "POST",
      body: new URLSearchParams({
        grant_type: "authorization_code",
        client_id: clientId,
        client_secret,
        code,
        redirect_uri: redirectUri,
      }),
    });
  expect((await exchange(old)).status).toBe(401);
  expect((await exchange(secret)).status).toBe(200); // the code that was issued before is still good
  await fetch(`${sandbox.baseUrl.replace("{domain_prefix}", store)}/${encodeURIComponent(secret)}`);
  expect(JSON.stringify(sandbox.requests)).not.toContain("new%20client");
  expect(() => sandbox.changeClientSecret("")).toThrow(/clientSecret must be/);
});

test("clearFaults ends a limit too", async () => {
  const client = await startClient();
  client.sandbox.limit(client.store, 60_000);
  client.sandbox.clearFaults(client.store);
  expect((await client.exchange(client.codeFor())).status).toBe(200);
});

test("liveTokens counts what is accepted", async () => {
  const client = await startClient({ rotation: "never" });
  const { refresh_token } = await client.login();
  await client.refresh(refresh_token);
  client.sandbox.createPersonalToken(client.store);
  expect(client.sandbox.liveTokens(client.store)).toEqual({ access: 2, refresh: 1, personal: 1 });
  client.sandbox.expire(client.store);
  client.sandbox.refuse(client.store);
  expect(client.sandbox.liveTokens(client.store)).toEqual({ access: 0, refresh: 0, personal: 1 });
});

test("now is the clock's time, and the clock only goes forward", async () => {
  const clock = virtualClock(1000);
  const { sandbox } = await startClient({ clock });
  expect(sandbox.now()).toBe(1000);
  expect(clock.advance(500)).toBe(1500);
  expect(sandbox.now()).toBe(1500);
  expect(() => clock.advance(-1)).toThrow(TypeError);
});

test.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY])("a limit of %d ms is a TypeError", async (ms) => {
  const { sandbox, store } = await startClient();
  expect(() => sandbox.limit(store, ms)).toThrow(TypeError);
});
