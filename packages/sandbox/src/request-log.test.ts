import { inspect } from "node:util";
import { expect, test } from "vitest";
import { startClient } from "../testing/client.js";
import { virtualClock } from "./index.js";

test("every request is there, in order, with what matters about it", async () => {
  const client = await startClient({ clock: virtualClock(5000) });
  const { access_token, refresh_token } = await client.login();
  await client.call("/api/products?page=1", access_token);
  await client.refresh(refresh_token, "rosas-bikes");
  await fetch(`${client.sandbox.authUrl}/connect?${client.authorizationQuery()}`);
  const token = { endpoint: "token", method: "POST", at: 5000, authorization: false };
  expect(client.sandbox.requests).toMatchObject([
    { id: 1, ...token, domainPrefix: client.store, grantType: "authorization_code", status: 200 },
    {
      id: 2,
      endpoint: "api",
      method: "GET",
      path: `/stores/${client.store}/api/products`,
      authorization: true,
      status: 200,
    },
    {
      id: 3,
      ...token,
      domainPrefix: "rosas-bikes",
      grantType: "refresh_token",
      status: 400,
      error: "invalid_grant",
    },
    { id: 4, endpoint: "connect", method: "GET", path: "/connect", status: 200 },
  ]);
  expect(client.sandbox.tokenRequests()).toHaveLength(2);
  expect(client.sandbox.tokenRequests("rosas-bikes")).toHaveLength(1);
});

test("the console's own requests are not there", async () => {
  const { sandbox } = await startClient();
  for (const path of ["/", "/sandbox.css", "/sandbox.js", "/nowhere"]) await fetch(sandbox.url + path);
  expect(sandbox.requests).toEqual([]);
});

test("what is handed out is a copy", async () => {
  const { sandbox, login } = await startClient();
  await login();
  Object.assign(sandbox.requests[0] ?? {}, { status: 1 });
  sandbox.requests.pop();
  expect(sandbox.requests).toMatchObject([{ status: 200 }]);
});

test("no secret is in it, wherever the client put one", async () => {
  const clientSecret = "canary-client-secret";
  const client = await startClient({ clientSecret });
  const code = client.codeFor();
  const tokens = (await (await client.exchange(code)).json()) as Record<string, string>;
  const personal = client.sandbox.createPersonalToken(client.store);
  const secrets = [clientSecret, code, tokens["access_token"] ?? "", tokens["refresh_token"] ?? "", personal];
  for (const secret of secrets) {
    await client.call(`/api/products/${secret}?token=${secret}`, secret);
    await client.post({ grant_type: secret, code: secret });
    await fetch(`${client.sandbox.authUrl}/connect?state=${secret}`);
  }
  const shown = [
    JSON.stringify(client.sandbox.requests),
    inspect(client.sandbox.requests, { depth: 9, maxArrayLength: null }),
    await (await fetch(client.sandbox.url)).text(),
  ].join("\n");
  for (const secret of secrets) expect(shown).not.toContain(secret);
});
