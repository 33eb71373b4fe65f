import type { RequestListener } from "node:http";
import { describe, expect, test } from "vitest";
import {
  answer,
  CODE,
  cutOff,
  failureOf,
  granted,
  REFRESH,
  served,
  shop,
  T0,
} from "../../../testing/token-endpoint.js";
import {
  ClientRefusedError,
  RateLimitedError,
  ReconnectRequiredError,
  TokenEndpointError,
} from "../../vocabulary/errors.js";

describe("429", () => {
  const reset = T0 / 1000 + 30;
  const rows: Array<{ name: string; headers: Record<string, string>; retryAt: number }> = [
    { name: "with a reset", headers: { "X-RateLimit-Reset": `${reset}` }, retryAt: T0 + 30_000 },
    { name: "in other letters", headers: { "x-RATELIMIT-reset": `${reset}` }, retryAt: T0 + 30_000 },
    { name: "without a reset", headers: {}, retryAt: T0 + 60_000 },
    { name: "with a reset in the past", headers: { "X-RateLimit-Reset": "5" }, retryAt: T0 + 60_000 },
    {
      name: "with a reset in milliseconds",
      headers: { "X-RateLimit-Reset": `${T0 + 5_000}` },
      retryAt: T0 + 60_000,
    },
    { name: "with a word", headers: { "X-RateLimit-Reset": "soon" }, retryAt: T0 + 60_000 },
    {
      name: "with a reset next year",
      headers: { "X-RateLimit-Reset": `${reset + 31_536_000}` },
      retryAt: T0 + 3_600_000,
    },
  ];
  for (const { name, headers, retryAt } of rows) {
    test(`is a RateLimitedError that knows when to come back: ${name}`, async () => {
      const { endpoint, seen } = await served(answer(429, "slow down", headers));
      for (const work of [() => endpoint.exchange(shop, CODE), () => endpoint.refresh(shop, REFRESH)]) {
        const error = await failureOf(work());
        expect(error).toBeInstanceOf(RateLimitedError);
        expect(error).toMatchObject({ retryAt, domainPrefix: "shop", status: 503 });
        expect(error.headers).toEqual({ "Retry-After": `${(retryAt - T0) / 1000}` });
      }
      expect(seen).toHaveLength(2); // one each: never retried
    });
  }

  test("carries the rate limit", async () => {
    const headers = {
      "X-RateLimit-Limit": "5",
      "X-RateLimit-Remaining": "0",
      "X-RateLimit-Reset": `${reset}`,
    };
    const { endpoint } = await served(answer(429, "", headers));
    const rateLimit = { limit: 5, remaining: 0, resetAt: T0 + 30_000 };
    expect(await failureOf(endpoint.refresh(shop, REFRESH))).toMatchObject({ rateLimit });
  });

  const bodies: Array<{ name: string; listener: RequestListener }> = [
    { name: "10 MB long", listener: answer(429, "x".repeat(10_000_000)) },
    { name: "that names an OAuth error", listener: answer(429, { error: "invalid_grant" }) },
    { name: "that looks like a success", listener: answer(429, granted) },
    { name: "that breaks off", listener: (_, response) => cutOff(response, 429) },
    { name: "that never comes", listener: (_, response) => response.writeHead(429).flushHeaders() },
  ];
  for (const { name, listener } of bodies) {
    test(`is a 429, whatever its body: one ${name}`, async () => {
      const { endpoint } = await served(listener, { timeoutMs: 150 });
      expect(await failureOf(endpoint.refresh(shop, REFRESH))).toBeInstanceOf(RateLimitedError);
    });
  }
});

describe("a refusal (behaviour 8)", () => {
  type Expected = { refresh: unknown; exchange: unknown };
  const grant: Expected = { refresh: ReconnectRequiredError, exchange: TokenEndpointError };
  const application: Expected = { refresh: ClientRefusedError, exchange: ClientRefusedError };
  const endpointOnly: Expected = { refresh: TokenEndpointError, exchange: TokenEndpointError };

  const rows: Array<{ status: number; body: unknown; expected: Expected }> = [
    { status: 400, body: { error: "invalid_grant" }, expected: grant },
    { status: 401, body: { error: "invalid_grant" }, expected: grant },
    { status: 400, body: { error: "something_new" }, expected: grant },
    { status: 400, body: { error: "" }, expected: grant },
    { status: 400, body: { error: 5 }, expected: grant },
    { status: 400, body: { error: { code: "invalid_client" } }, expected: grant },
    { status: 400, body: { error: ["invalid_client"] }, expected: grant },
    { status: 400, body: {}, expected: grant },
    { status: 401, body: "", expected: grant },
    { status: 401, body: "<html>Unauthorized</html>", expected: grant },
    { status: 400, body: "null", expected: grant },
    { status: 400, body: `{"__proto__":{"error":"invalid_client"}}`, expected: grant },
    { status: 400, body: "x".repeat(2_000_000), expected: grant },
    { status: 400, body: granted, expected: grant },
    { status: 400, body: { error: "invalid_client" }, expected: application },
    { status: 401, body: { error: "invalid_client" }, expected: application },
    { status: 400, body: { error: "unauthorized_client" }, expected: application },
    { status: 401, body: { error: "unauthorized_client" }, expected: application },
    { status: 401, body: '\uFEFF{"error":"invalid_client"}', expected: application },
    { status: 400, body: { error: "invalid_request" }, expected: endpointOnly },
    { status: 400, body: { error: "invalid_scope" }, expected: endpointOnly },
    { status: 400, body: { error: "unsupported_grant_type" }, expected: endpointOnly },
    { status: 402, body: { error: "invalid_grant" }, expected: grant },
    { status: 403, body: { error: "invalid_grant" }, expected: grant },
    { status: 403, body: { error: "invalid_client" }, expected: endpointOnly },
    { status: 404, body: "no such retailer", expected: endpointOnly },
    { status: 405, body: "", expected: endpointOnly },
    { status: 410, body: { error: "invalid_grant" }, expected: grant },
    { status: 422, body: { error: "invalid_grant" }, expected: grant },
    { status: 500, body: { error: "invalid_grant" }, expected: endpointOnly },
    { status: 502, body: "<html>", expected: endpointOnly },
    { status: 503, body: { error: "invalid_client" }, expected: endpointOnly },
    { status: 504, body: "", expected: endpointOnly },
    { status: 599, body: granted, expected: endpointOnly },
  ];
  for (const { status, body, expected } of rows) {
    const named = typeof body === "string" ? body : JSON.stringify(body);
    test(`is read from status and body: ${status} ${named.slice(0, 45)}`, async () => {
      const { endpoint, seen } = await served(answer(status, body));
      expect(await failureOf(endpoint.refresh(shop, REFRESH))).toBeInstanceOf(expected.refresh);
      const ofCode = await failureOf(endpoint.exchange(shop, CODE));
      expect(ofCode).toBeInstanceOf(expected.exchange);
      if (ofCode instanceof TokenEndpointError) {
        expect(ofCode.endpointStatus).toBe(status);
        expect(ofCode.status).toBe(expected === grant ? 403 : 502);
      }
      expect(seen).toHaveLength(2);
    });
  }

  test("of a code says to start again with the login", async () => {
    const { endpoint } = await served(answer(400, { error: "invalid_grant" }));
    const error = await failureOf(endpoint.exchange(shop, CODE));
    expect(error).toMatchObject({ error: "invalid_grant", endpointStatus: 400, domainPrefix: "shop" });
    expect(error.message).toMatch(/start again/i);
  });

  test("repeats the service's own words, short and printable", async () => {
    const words = {
      error: "invalid_request",
      error_description: `no\r\nSet-Cookie: x\u001b[31m ${"x".repeat(5_000)}`,
    };
    const { endpoint } = await served(answer(400, words));
    const error = (await failureOf(endpoint.refresh(shop, REFRESH))) as TokenEndpointError;
    expect(error.error).toBe("invalid_request");
    expect(error.errorDescription).toMatch(/^[\x20-\x7e]+$/);
    expect(error.errorDescription?.length).toBeLessThan(500);
  });

  test("has no words where the service's are no text", async () => {
    const { endpoint } = await served(answer(500, { error: { a: 1 }, error_description: ["x"] }));
    const error = await failureOf(endpoint.refresh(shop, REFRESH));
    expect(["error" in error, "errorDescription" in error]).toEqual([false, false]);
  });

  test("may be turned into an error of the caller's own, but a 429 may not", async () => {
    class Own extends Error {}
    const parseErrorResponse = (body: string, status: number) => new Own(`${status} ${body}`);
    const { endpoint } = await served(answer(418, "teapot"));
    await expect(endpoint.exchange(shop, CODE, { parseErrorResponse })).rejects.toThrow(
      new Own("418 teapot"),
    );
    await expect(endpoint.exchange(shop, CODE, { parseErrorResponse: () => null })).rejects.toThrow(
      TokenEndpointError,
    );
    const { endpoint: busy } = await served(answer(429, ""));
    await expect(busy.exchange(shop, CODE, { parseErrorResponse })).rejects.toThrow(RateLimitedError);
  });
});
