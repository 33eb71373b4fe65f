import { describe, expect, test } from "vitest";
import { type Client, startClient, type WireTokens } from "../testing/client.js";

const scopes = ["products:read", "sales:read", "sales:write"];

describe("a service without scopes, the default", () => {
  test("ignores the scope that a login names, and says none", async () => {
    const client = await startClient();
    const callback = client.sandbox.consent(connectUrl(client, "anything"), client.store);
    expect(callback.searchParams.has("scope")).toBe(false);
    const tokens = await tokensFor(client, callback);
    expect(tokens).not.toHaveProperty("scope");
    expect((await client.call("/api/sales", tokens.access_token)).status).toBe(200);
  });
});

describe("a service with scopes", () => {
  test.each<[what: string, scope: string | undefined, error: string]>([
    ["names none", undefined, "access_denied"],
    ["names an empty one", " ", "access_denied"],
    ["names one that there is not", "products:read customers:read", "invalid_scope"],
  ])("answers a login that %s with an error, at once and with its state", async (_, scope, error) => {
    const client = await startClient({ scopes });
    const url = connectUrl(client, scope);
    const response = await fetch(url, { redirect: "manual" });
    expect(response.status).toBe(302);
    const callback = new URL(response.headers.get("location") ?? "");
    expect(callback.origin + callback.pathname).toBe(client.sandbox.application.redirectUri);
    expect(Object.fromEntries(callback.searchParams)).toEqual({
      error,
      error_description: expect.stringContaining("products:read sales:read sales:write"),
      state: "12345678",
    });
    expect(client.sandbox.consent(url, client.store).href).toBe(callback.href);
  });

  test("a wrong request is told to the developer before its scopes are looked at", async () => {
    const client = await startClient({ scopes });
    const query = client.authorizationQuery({ state: "short" });
    expect((await fetch(`${client.sandbox.authUrl}/connect?${query}`)).status).toBe(400);
  });

  test("asks the retailer for what the login names, grants that, and says so each time", async () => {
    const client = await startClient({ scopes });
    const page = await (await fetch(connectUrl(client, "sales:read products:read"))).text();
    expect(page).toContain("<code>sales:read</code>, <code>products:read</code>.");
    const request = /name="request" value="([^"]+)"/.exec(page)?.[1] ?? "";
    const body = new URLSearchParams({ request, store: client.store, decision: "approve" });
    const answer = await fetch(`${client.sandbox.authUrl}/connect`, {
      method: "POST",
      redirect: "manual",
      body,
    });
    const callback = new URL(answer.headers.get("location") ?? "");
    expect(callback.searchParams.get("scope")).toBe("sales:read products:read");
    const tokens = await tokensFor(client, callback);
    expect(tokens).toMatchObject({ scope: "sales:read products:read" });
    const renewed = await (await client.refresh(tokens.refresh_token ?? "")).json();
    expect(renewed).toMatchObject({ scope: "sales:read products:read" });
  });

  const calls: [method: string, path: string, needs: string | undefined][] = [
    ["GET", "/api/retailer", undefined],
    ["GET", "/api/products", "products:read"],
    ["GET", "/api/products/harbour-coffee-1", "products:read"],
    ["GET", "/api/sales", "sales:read"],
    ["POST", "/api/sales", "sales:write"],
  ];
  test.each(calls)("%s %s needs %s: without it 403, and nothing is done", async (method, path, needs) => {
    const client = await startClient({ scopes });
    const sale = JSON.stringify({ product_id: "harbour-coffee-1", quantity: 1 });
    const headers = { "content-type": "application/json" };
    const init = method === "POST" ? { method, body: sale, headers } : { method };
    for (const scope of scopes) {
      const { access_token } = await tokensFor(client, granting(client, [scope]));
      const response = await client.call(path, access_token, init);
      if (needs === undefined || needs === scope) {
        expect(response.ok).toBe(true);
        continue;
      }
      expect(response.status).toBe(403);
      expect(response.headers.get("www-authenticate")).toBe(
        `Bearer realm="retail-pos", error="insufficient_scope", scope="${needs}"`,
      );
      expect(await response.json()).toMatchObject({ error: "insufficient_scope" });
      expect(client.sandbox.requests.at(-1)).toMatchObject({ status: 403, error: "insufficient_scope" });
    }
    const reader = await tokensFor(client, granting(client, ["sales:read"]));
    const sales = await (await client.call("/api/sales", reader.access_token)).json();
    expect(sales).toMatchObject({ total: method === "POST" ? 1 : 0 });
  });

  test("the console shows the setting, and its link to the consent page names the scopes", async () => {
    const client = await startClient({ scopes });
    const page = await (await fetch(client.sandbox.url)).text();
    expect(page).toContain(`data-copy="${scopes.join(" ")}"`);
    const link = /href="([^"]*\/connect\?[^"]*)"/.exec(page)?.[1] ?? "";
    expect((await fetch(link.replaceAll("&#38;", "&"))).status).toBe(200);
  });

  test("a Personal Token has none: it may do what its user may (R7)", async () => {
    const client = await startClient({ scopes });
    const token = client.sandbox.createPersonalToken(client.store);
    expect((await client.call("/api/sales", token)).status).toBe(200);
  });

  test("approve grants all of them, or those that it is given", async () => {
    const client = await startClient({ scopes });
    expect(await tokensFor(client, granting(client))).toMatchObject({ scope: scopes.join(" ") });
    expect(await tokensFor(client, granting(client, ["sales:read"]))).toMatchObject({ scope: "sales:read" });
    expect(() => granting(client, ["customers:read"])).toThrow(/^scopes must/);
  });
});

function connectUrl(client: Client, scope?: string): string {
  const query = client.authorizationQuery(scope === undefined ? {} : { scope });
  return `${client.sandbox.authUrl}/connect?${query}`;
}

function granting(client: Client, granted?: readonly string[]): URL {
  return client.sandbox.approve(client.store, undefined, undefined, granted);
}

async function tokensFor(client: Client, callback: URL): Promise<WireTokens> {
  return (await (await client.exchange(callback.searchParams.get("code") ?? "")).json()) as WireTokens;
}
