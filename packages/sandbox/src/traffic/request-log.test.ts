import { inspect } from "node:util";
import { expect, test } from "vitest";
import { startClient } from "../../testing/client.js";
import { virtualClock } from "../index.js";

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
  const clientSecret = "canary/client+secret";
  const client = await startClient({ clientSecret });
  const code = client.codeFor();
  const tokens = (await (await client.exchange(code)).json()) as Record<string, string>;
  const personal = client.sandbox.createPersonalToken(client.store);
  const secrets = [clientSecret, code, tokens["access_token"] ?? "", tokens["refresh_token"] ?? "", personal];
  for (const secret of secrets) {
    await client.call(`/api/products/${secret}?token=${secret}`, secret);
    const everyByte = Buffer.from(secret).toString("hex").replace(/../g, "%$&");
    const encoded = [
      secret.replace("_", "%5F"),
      everyByte,
      encodeURIComponent(everyByte),
      `a/${everyByte}/${secret}`,
    ];
    for (const path of encoded) await client.call(`/api/products/${path}`, secret);
    await client.post({ grant_type: secret, code: secret });
    await fetch(`${client.sandbox.authUrl}/connect?state=${secret}`);
  }
  const shown = [
    JSON.stringify(client.sandbox.requests),
    inspect(client.sandbox.requests, { depth: 9, maxArrayLength: null }),
    await (await fetch(client.sandbox.url)).text(),
  ].join("\n");
  for (const secret of secrets) {
    for (const layers of [0, 1, 2, 3]) expect(decoded(shown, layers)).not.toContain(secret);
  }
});

test("a path without a secret is shown as it came", async () => {
  const client = await startClient();
  const { access_token } = await client.login();
  const path = "/api/products/a%2Fb%252Fc%C3%A9%ff";
  await client.call(path, access_token);
  expect(client.sandbox.requests.at(-1)?.path).toBe(`/stores/${client.store}${path}`);
});

function decoded(text: string, layers: number): string {
  return layers === 0 ? text : decoded(unescape(text), layers - 1);
}
