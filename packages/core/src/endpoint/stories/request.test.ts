import nock from "nock";
import { describe, expect, test } from "vitest";
import {
  answer,
  CLIENT_SECRET,
  CODE,
  endpointAt,
  formOf,
  granted,
  REFRESH,
  served,
  shop,
  T0,
} from "../../../testing/token-endpoint.js";
import { parseDomainPrefix } from "../../vocabulary/domain-prefix.js";

describe("a token request (4.2, 4.3)", () => {
  test("for a code is a POST with a form, and nothing in the query string", async () => {
    const { endpoint, seen } = await served(answer(200, granted));
    await endpoint.exchange(shop, CODE);
    expect(seen).toHaveLength(1);
    expect(seen[0]).toMatchObject({ method: "POST", url: "/shop/api/1.0/token" });
    expect(seen[0]?.headers["content-type"]).toBe("application/x-www-form-urlencoded");
    expect(seen[0]?.headers["user-agent"]).toBe("test-agent");
    expect(seen[0]?.headers.authorization).toBeUndefined();
    expect(formOf(seen[0])).toEqual([
      ["client_id", "the client"],
      ["client_secret", CLIENT_SECRET],
      ["code", CODE],
      ["grant_type", "authorization_code"],
      ["redirect_uri", "https://app.example/callback?a=b"],
    ]);
  });

  test("for a refresh names the refresh token, and no redirect_uri", async () => {
    const { endpoint, seen } = await served(answer(200, granted));
    await endpoint.refresh(shop, REFRESH);
    expect(seen[0]).toMatchObject({ method: "POST", url: "/shop/api/1.0/token" });
    expect(seen[0]?.headers["content-type"]).toBe("application/x-www-form-urlencoded");
    expect(formOf(seen[0])).toEqual([
      ["client_id", "the client"],
      ["client_secret", CLIENT_SECRET],
      ["grant_type", "refresh_token"],
      ["refresh_token", REFRESH],
    ]);
  });

  test("may carry further parameters and another redirect_uri, but the five of 4.2 stay what they are", async () => {
    const { endpoint, seen } = await served(answer(200, granted));
    const params = {
      code_verifier: "verifier",
      code: "evil",
      grant_type: "evil",
      client_id: "evil",
      client_secret: "evil",
      redirect_uri: "evil",
    };
    await endpoint.exchange(shop, CODE, { redirectUri: "https://app.example/other", params });
    expect(formOf(seen[0])).toEqual([
      ["client_id", "the client"],
      ["client_secret", CLIENT_SECRET],
      ["code", CODE],
      ["code_verifier", "verifier"],
      ["grant_type", "authorization_code"],
      ["redirect_uri", "https://app.example/other"],
    ]);
  });

  test("goes to the retailer's own https host", async () => {
    nock.activate();
    nock.disableNetConnect();
    const scope = nock("https://shop.retail.example")
      .post("/pos/api/1.0/token", {
        grant_type: "refresh_token",
        refresh_token: REFRESH,
        client_id: "the client",
        client_secret: CLIENT_SECRET,
      })
      .reply(200, granted);
    const endpoint = endpointAt("https://{domain_prefix}.retail.example/pos/");
    await endpoint.refresh(shop, REFRESH);
    expect(scope.isDone()).toBe(true);
  });

  test("of two retailers goes to two endpoints, also at the same time", async () => {
    const { endpoint, seen } = await served(answer(200, granted));
    const other = parseDomainPrefix("other");
    await Promise.all([endpoint.exchange(shop, "code-of-shop"), endpoint.exchange(other, "code-of-other")]);
    const codes = seen.map((request) => `${request.url} ${new URLSearchParams(request.body).get("code")}`);
    expect(codes.sort()).toEqual(["/other/api/1.0/token code-of-other", "/shop/api/1.0/token code-of-shop"]);
  });

  test("has an id of its own, so that no cache takes two for one", async () => {
    const { endpoint, seen } = await served(answer(200, granted));
    await endpoint.exchange(shop, CODE);
    await endpoint.refresh(shop, REFRESH);
    await endpoint.refresh(shop, REFRESH);
    const ids = seen.map(({ headers }) => String(headers["x-request-id"]));
    for (const id of ids) expect(id).toMatch(/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/);
    expect(new Set(ids).size).toBe(3);
  });

  test("tells the fetch in use, also one of the application's own, to keep and to take nothing from a cache", async () => {
    const given: unknown[] = [];
    const fetch: typeof globalThis.fetch = async (_, init) => {
      given.push(init);
      return Response.json(granted);
    };
    const endpoint = endpointAt("https://{domain_prefix}.retail.example", { fetch });
    await endpoint.exchange(shop, CODE);
    await endpoint.refresh(shop, REFRESH);
    const uncached = expect.objectContaining({ cache: "no-store", next: { internal: true } });
    expect(given).toEqual([uncached, uncached]);
  });

  test("counts expires_in from the moment it was sent, not from the answer", async () => {
    const time = { now: T0 };
    const { endpoint } = await served(
      (request, response) => {
        time.now += 9_000;
        answer(200, granted)(request, response);
      },
      { clock: () => time.now },
    );
    const { requestedAt, response } = await endpoint.refresh(shop, REFRESH);
    expect(requestedAt).toBe(T0);
    expect(response.access?.expiresAt).toBe(T0 + 86_400_000);
  });

  test("reports the rate limit of a success", async () => {
    const headers = {
      "X-RateLimit-Limit": "5",
      "X-RateLimit-Remaining": "0",
      "X-RateLimit-Reset": `${T0 / 1000}`,
    };
    const { endpoint } = await served(answer(200, granted, headers));
    expect((await endpoint.refresh(shop, REFRESH)).rateLimit).toEqual({
      limit: 5,
      remaining: 0,
      resetAt: T0,
    });
    const { endpoint: silent } = await served(answer(200, granted));
    expect((await silent.refresh(shop, REFRESH)).rateLimit).toBeUndefined();
  });
});
