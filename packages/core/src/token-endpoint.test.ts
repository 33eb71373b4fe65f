import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { inspect } from "node:util";
import { gzipSync } from "node:zlib";
import nock from "nock";
import { afterEach, describe, expect, test } from "vitest";
import { addressesAt } from "./addresses.js";
import { parseDomainPrefix } from "./domain-prefix.js";
import {
  ClientRefusedError,
  isRetailPosError,
  RateLimitedError,
  ReconnectRequiredError,
  type RetailPosError,
  TokenEndpointError,
  TokenResponseError,
} from "./errors.js";
import type { RetailPosOptions } from "./options.js";
import { retailPos } from "./retail-pos.js";
import { type TokenEndpoint, type TokenEndpointOptions, tokenEndpoint } from "./token-endpoint.js";

const T0 = Date.UTC(2030, 0, 1);
const shop = parseDomainPrefix("shop");
/** Signs that have to be encoded in a form, and in ways that differ. */
const CODE = "canary-code /+&=%é";
const REFRESH = "canary-refresh /+&=%é";
const CLIENT_SECRET = "canary-client-secret /+&=%é";
const ACCESS = "canary-access";
const granted = {
  access_token: ACCESS,
  token_type: "Bearer",
  expires_in: 86_400,
  refresh_token: "canary-rotated",
};

nock.restore(); // importing nock switches it on
const closing: Array<() => void> = [];

afterEach(() => {
  nock.cleanAll();
  nock.enableNetConnect();
  nock.restore();
  for (const close of closing.splice(0)) close();
});

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

describe("a redirect is not followed", () => {
  for (const status of [301, 302, 303, 307, 308]) {
    test(`and its target never sees the body: ${status}`, async () => {
      const target = await served(answer(200, granted));
      const { endpoint, seen } = await served((request, response) => {
        request.resume();
        response.writeHead(status, { location: `${target.url}/shop/api/1.0/token` }).end();
      });
      for (const work of [() => endpoint.exchange(shop, CODE), () => endpoint.refresh(shop, REFRESH)]) {
        expect(await failureOf(work())).toMatchObject({
          code: "token_endpoint_failed",
          endpointStatus: status,
        });
      }
      expect(seen).toHaveLength(2);
      expect(target.seen).toEqual([]);
    });
  }

  test("from https to another https host either", async () => {
    nock.activate();
    nock.disableNetConnect();
    const evil = nock("https://evil.example").post("/token").reply(200, granted);
    const location = "https://evil.example/token";
    nock("https://shop.retail.example").post("/api/1.0/token").reply(307, "", { location });
    const endpoint = endpointAt("https://{domain_prefix}.retail.example");
    const error = await failureOf(endpoint.refresh(shop, REFRESH));
    expect(error).toBeInstanceOf(TokenEndpointError);
    expect(error.message).toMatch(/redirect/);
    expect(evil.isDone()).toBe(false);
  });

  test("and counts as a failure where the application's own fetch followed it", async () => {
    for (const [type, value] of [
      ["redirected", true],
      ["type", "opaqueredirect"],
    ] as const) {
      const fetch = async () => Object.defineProperty(Response.json(granted), type, { value });
      const endpoint = endpointAt("https://{domain_prefix}.retail.example", { fetch });
      expect(await failureOf(endpoint.refresh(shop, REFRESH))).toBeInstanceOf(TokenEndpointError);
    }
  });
});

describe("a silent or broken wire is a TokenEndpointError:", () => {
  const rows: Array<{ name: string; listener: RequestListener }> = [
    { name: "no answer", listener: () => {} },
    { name: "headers and no body", listener: (_, response) => response.writeHead(200).flushHeaders() },
    { name: "half a body", listener: (_, response) => response.writeHead(200).write('{"access_token":') },
    { name: "half a body, then the end of the connection", listener: (_, response) => cutOff(response, 200) },
    { name: "the end of the connection", listener: (request) => request.socket.destroy() },
    {
      name: "something that is not HTTP",
      listener: (request) => request.socket.end("SSH-2.0-OpenSSH_9.6\r\n"),
    },
    {
      name: "less than its Content-Length",
      listener: (request) => request.socket.end("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{}"),
    },
    {
      name: "a body that is not the gzip it says it is",
      listener: (_, response) => response.writeHead(200, { "content-encoding": "gzip" }).end("no gzip"),
    },
  ];
  for (const { name, listener } of rows) {
    test(name, async () => {
      const { endpoint, seen } = await served(listener, { timeoutMs: 150 });
      for (const work of [() => endpoint.exchange(shop, CODE), () => endpoint.refresh(shop, REFRESH)]) {
        const error = await failureOf(work());
        expect(error).toBeInstanceOf(TokenEndpointError);
        expect(error).toMatchObject({ code: "token_endpoint_failed", status: 502, domainPrefix: "shop" });
        expect("endpointStatus" in error).toBe(false);
        expect(shown(error)).not.toContain("canary");
      }
      expect(seen).toHaveLength(2); // one each: never retried
    });
  }

  test("a body that comes in drops and never ends: one deadline over all of it", async () => {
    const { endpoint } = await served(
      (_, response) => {
        response.writeHead(200);
        const drops = setInterval(() => response.write(" "), 5);
        response.on("close", () => clearInterval(drops));
      },
      { timeoutMs: 100 },
    );
    expect((await failureOf(endpoint.refresh(shop, REFRESH))).message).toMatch(/100 ms/);
  });

  test("nobody listens", async () => {
    const { url, close } = await served(() => {});
    await close();
    const error = await failureOf(endpointAt(`${url}/{domain_prefix}`).refresh(shop, REFRESH));
    expect(error).toBeInstanceOf(TokenEndpointError);
    expect(inspect(error.cause)).toMatch(/ECONNREFUSED/);
  });

  test("an own fetch that throws, rejects, ignores the signal or returns nonsense", async () => {
    const fetches: Array<() => unknown> = [
      () => {
        throw new Error("thrown");
      },
      () => Promise.reject(new Error("rejected")),
      () => Promise.reject(undefined),
      () => Promise.reject("a text"),
      () => new Promise(() => {}),
      async () => undefined,
    ];
    for (const fetch of fetches) {
      const own = { fetch: fetch as typeof globalThis.fetch, timeoutMs: 30 };
      const endpoint = endpointAt("https://{domain_prefix}.retail.example", own);
      expect(await failureOf(endpoint.refresh(shop, REFRESH))).toBeInstanceOf(TokenEndpointError);
    }
  });
});

describe("what an error means does not depend on the secrets that were sent", () => {
  const rows = [
    { error: "invalid_request", type: TokenEndpointError },
    { error: "temporarily_unavailable", type: TokenEndpointError },
    { error: "unsupported_grant_type", type: TokenEndpointError },
    { error: "access_denied", type: TokenEndpointError },
    { error: "invalid_client", type: ClientRefusedError },
    { error: "invalid_grant", type: ReconnectRequiredError },
  ];
  test.each(rows)("$error", async ({ error, type }) => {
    for (const secret of ["s", "r", "client", "invalid"]) {
      const endpoint = endpointAt("https://{domain_prefix}.retail.example", {
        clientSecret: secret,
        fetch: async () => Response.json({ error }, { status: 400 }),
      });
      expect(await failureOf(endpoint.refresh(shop, secret))).toBeInstanceOf(type);
    }
  });

  test("a refused code is invalid_grant, with the service's own words beside it", async () => {
    for (const body of [
      JSON.stringify({ error: "invalid_grant", error_description: "Code expired" }),
      "<h1>No</h1>",
    ]) {
      const endpoint = endpointAt("https://{domain_prefix}.retail.example", {
        fetch: async () => new Response(body, { status: 400 }),
      });
      const error = await failureOf(endpoint.exchange(shop, "invalid"));
      expect(error).toBeInstanceOf(TokenEndpointError);
      expect(error).toMatchObject({ error: "invalid_grant", endpointStatus: 400 });
      if (body.startsWith("{")) expect(error).toMatchObject({ errorDescription: "Code expired" });
    }
  });
});

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
    { status: 402, body: { error: "invalid_grant" }, expected: endpointOnly },
    { status: 403, body: { error: "invalid_grant" }, expected: endpointOnly },
    { status: 403, body: { error: "invalid_client" }, expected: endpointOnly },
    { status: 404, body: "no such retailer", expected: endpointOnly },
    { status: 405, body: "", expected: endpointOnly },
    { status: 410, body: { error: "invalid_grant" }, expected: endpointOnly },
    { status: 422, body: { error: "invalid_grant" }, expected: endpointOnly },
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
      if (ofCode instanceof TokenEndpointError) expect(ofCode.endpointStatus).toBe(status);
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

describe("a 2xx that is no usable token response is a TokenResponseError, for a refresh and for a login:", () => {
  const rows: Array<{ name: string; status?: number; body: unknown }> = [
    { name: "HTML", body: "<!doctype html><title>Sign in</title>" },
    { name: "nothing", body: "" },
    { name: "204", status: 204, body: "" },
    { name: "an empty object", body: {} },
    { name: "an error with status 200", body: { error: "invalid_grant" } },
    { name: "null", body: "null" },
    { name: "an array", body: [granted] },
    { name: "a text", body: JSON.stringify("canary-access") },
    { name: "a form", body: new URLSearchParams(granted as never).toString() },
    { name: "cut-off JSON", body: JSON.stringify(granted).slice(0, -1) },
    {
      name: "10 MB of white space around a good one",
      body: JSON.stringify(granted) + " ".repeat(10_000_000),
    },
    { name: "an access token that is a number", body: { access_token: 5 } },
    { name: "an access token that is an array", body: { access_token: ["canary-access"] } },
    { name: "an empty access token", body: { access_token: "" } },
    { name: "an access token that would be two headers", body: { access_token: "canary\r\nX-Evil: 1" } },
    { name: "inherited fields", body: `{"__proto__":${JSON.stringify(granted)}}` },
    { name: "another retailer's", body: { ...granted, domain_prefix: "other" } },
    {
      name: "another retailer's, which is no label",
      body: { ...granted, domain_prefix: "shop.evil.example/" },
    },
  ];
  for (const { name, status = 200, body } of rows) {
    test(name, async () => {
      const { endpoint, url, seen } = await served(answer(status, body));
      const pos = retailPos(options(url));
      for (const work of [
        () => endpoint.refresh(shop, REFRESH),
        () => endpoint.exchange(shop, CODE),
        () => pos.exchange("shop", CODE),
      ]) {
        const error = await failureOf(work());
        expect(error).toBeInstanceOf(TokenResponseError);
        expect(error).toMatchObject({ domainPrefix: "shop", status: 502 });
        expect(shown(error)).not.toContain("canary");
      }
      expect(seen).toHaveLength(3);
    });
  }

  test("a small answer that unpacks to 100 MB is not unpacked to its end", async () => {
    const packed = gzipSync(
      Buffer.concat([Buffer.from(JSON.stringify(granted)), Buffer.alloc(100_000_000, " ")]),
    );
    const { endpoint } = await served((_, response) => {
      response.writeHead(200, { "content-encoding": "gzip" }).end(packed);
    });
    expect(await failureOf(endpoint.refresh(shop, REFRESH))).toBeInstanceOf(TokenResponseError);
  });

  test("an answer without an end is given up after 1 MiB, long before the deadline", async () => {
    const { endpoint } = await served((_, response) => {
      response.writeHead(200);
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536, " ")));
      };
      response.on("drain", more);
      more();
    });
    expect(await failureOf(endpoint.refresh(shop, REFRESH))).toBeInstanceOf(TokenResponseError);
  });

  test("but 1 MiB is read", async () => {
    const text = JSON.stringify(granted);
    const { endpoint } = await served(answer(200, text + " ".repeat(1024 * 1024 - text.length)));
    expect((await endpoint.refresh(shop, REFRESH)).response.access?.value).toBe(ACCESS);
    const { endpoint: longer } = await served(answer(200, text + " ".repeat(1024 * 1024 - text.length + 1)));
    expect(await failureOf(longer.refresh(shop, REFRESH))).toBeInstanceOf(TokenResponseError);
  });

  test("and a byte-order mark, another 2xx or another content type disturb nobody", async () => {
    for (const listener of [
      answer(200, `\uFEFF${JSON.stringify(granted)}`),
      answer(201, granted),
      answer(200, granted, { "content-type": "text/html" }),
    ]) {
      const { endpoint } = await served(listener);
      expect((await endpoint.refresh(shop, REFRESH)).response.access?.value).toBe(ACCESS);
    }
  });
});

describe("a login is read strictly", () => {
  const rows: Array<{ name: string; body: Record<string, unknown> }> = [
    { name: "no refresh token", body: { ...granted, refresh_token: undefined } },
    { name: "an empty refresh token", body: { ...granted, refresh_token: "" } },
    { name: "a refresh token of null", body: { ...granted, refresh_token: null } },
    { name: "a refresh token that is a number", body: { ...granted, refresh_token: 5 } },
    { name: "a refresh token that is an array", body: { ...granted, refresh_token: ["canary"] } },
    { name: "no access token", body: { ...granted, access_token: undefined } },
    { name: "another token type", body: { ...granted, token_type: "mac" } },
    { name: "an error beside the tokens", body: { ...granted, error: "invalid_grant" } },
    { name: "a domain_prefix that is a number", body: { ...granted, domain_prefix: 5 } },
    { name: "a domain_prefix that is an array", body: { ...granted, domain_prefix: ["other"] } },
    { name: "a domain_prefix that is an object", body: { ...granted, domain_prefix: { name: "other" } } },
  ];
  for (const { name, body } of rows) {
    test(`and is a TokenResponseError with ${name}`, async () => {
      const { url, seen } = await served(answer(200, body));
      const error = await failureOf(retailPos(options(url)).exchange("shop", CODE));
      expect(error).toBeInstanceOf(TokenResponseError);
      expect(shown(error)).not.toContain("canary");
      expect(seen).toHaveLength(1);
    });
  }

  test("and becomes a token set, stored nowhere", async () => {
    const { url } = await served(answer(200, { ...granted, domain_prefix: "SHOP", scope: "" }));
    const pos = retailPos(options(url));
    const set = await pos.exchange("Shop", CODE);
    expect(set).toEqual({
      domainPrefix: "shop",
      access: { value: ACCESS, expiresAt: T0 + 86_400_000 },
      refreshToken: "canary-rotated",
      issuedAt: T0,
      version: expect.any(String),
    });
    expect((await pos.exchange("shop", CODE)).version).not.toBe(set.version);
    await expect(pos.tokens("shop").token()).rejects.toMatchObject({ code: "not_connected" });
  });

  test("and a refresh leniently: what is usable is salvaged", async () => {
    const odd = {
      ...granted,
      token_type: "mac",
      error: "invalid_grant",
      domain_prefix: 5,
      expires_in: "never",
    };
    const { endpoint } = await served(answer(200, odd));
    const { response } = await endpoint.refresh(shop, REFRESH);
    expect(response).toMatchObject({ access: { value: ACCESS }, refreshToken: "canary-rotated" });
    const { endpoint: other } = await served(
      answer(200, { refresh_token: "canary-rotated", access_token: 5 }),
    );
    expect((await other.refresh(shop, REFRESH)).response.refreshToken).toBe("canary-rotated");
  });

  for (const code of ["", undefined, null, 5, ["code"], {}]) {
    test(`and needs a code: ${JSON.stringify(code)} is a TypeError, and nothing is sent`, async () => {
      const { url, seen } = await served(answer(200, granted));
      await expect(retailPos(options(url)).exchange("shop", code as string)).rejects.toThrow(TypeError);
      expect(seen).toEqual([]);
    });
  }
});

describe("no error shows a secret, wherever the service or the wire repeats it:", () => {
  const echoes: Array<{ name: string; listener: RequestListener }> = [
    { name: "error", listener: echo((form) => answer(400, { error: all(form) })) },
    {
      name: "error_description",
      listener: echo((form) => answer(400, { error: "invalid_request", error_description: all(form) })),
    },
    {
      name: "error_description, as it was sent",
      listener: echo((_, body) => answer(500, { error_description: body })),
    },
    { name: "an HTML page", listener: echo((_, body) => answer(500, `<pre>${body}</pre>`)) },
    { name: "a page that is no JSON", listener: echo((_, body) => answer(200, body)) },
    {
      name: "invalid_client",
      listener: echo((form) => answer(401, { error: "invalid_client", error_description: all(form) })),
    },
    {
      name: "invalid_grant",
      listener: echo((form) => answer(400, { error: "invalid_grant", error_description: all(form) })),
    },
    { name: "a redirect", listener: echo((_, body) => answer(302, "", { location: `/login?${body}` })) },
    {
      name: "rate limit headers",
      listener: echo((_, body) => answer(429, body, { "X-RateLimit-Reset": body })),
    },
    { name: "the token type", listener: echo((form) => answer(200, { ...granted, token_type: all(form) })) },
    {
      name: "domain_prefix",
      listener: echo((form) => answer(200, { ...granted, domain_prefix: all(form) })),
    },
    {
      name: "a broken header",
      listener: echo((_, body) => (request) => request.socket.end(`HTTP/1.1 200 OK\r\n${body}\r\n\r\n`)),
    },
  ];
  for (const { name, listener } of echoes) {
    test(name, async () => {
      const { endpoint, url } = await served(listener);
      const events: unknown[] = [];
      const pos = retailPos({ ...options(url), observe: (event) => events.push(event) });
      const errors = [
        await failureOf(pos.exchange("shop", CODE)),
        await failureOf(endpoint.exchange(shop, CODE).then(fail)),
        await failureOf(endpoint.refresh(shop, REFRESH).then(fail)),
      ];
      for (const value of [...errors, events]) expect(shown(value)).not.toContain("canary");
    });
  }

  test("an own fetch that puts the request into its error", async () => {
    const fetch = async (input: unknown, init?: RequestInit) => {
      const form = Object.fromEntries(new URLSearchParams(String(init?.body)));
      const request = { input, init, form, request: new Request(String(input), init) };
      throw Object.assign(new Error(`failed: ${init?.body} ${all(form)}`, { cause: request }), request, {
        code: "EX",
      });
    };
    const own = fetch as typeof globalThis.fetch;
    const endpoint = endpointAt("https://{domain_prefix}.retail.example", { fetch: own });
    for (const work of [() => endpoint.exchange(shop, CODE), () => endpoint.refresh(shop, REFRESH)]) {
      const error = await failureOf(work());
      expect(error).toBeInstanceOf(TokenEndpointError);
      expect(error.cause).toMatchObject({ code: "EX", message: expect.stringContaining("failed") });
      expect(shown(error)).not.toContain("canary");
    }
  });
});

test("one failed request does not poison the next", async () => {
  let count = 0;
  const { endpoint } = await served((request, response) => {
    count += 1;
    if (count === 1) request.socket.destroy();
    else answer(200, granted)(request, response);
  });
  await failureOf(endpoint.refresh(shop, REFRESH));
  expect((await endpoint.refresh(shop, REFRESH)).response.access?.value).toBe(ACCESS);
});

interface Seen {
  method: string | undefined;
  url: string | undefined;
  headers: IncomingMessage["headers"];
  body: string;
}

/** A real service on this machine; the listener runs when the request's body has come in. */
async function served(listener: RequestListener, changes: Partial<TokenEndpointOptions> = {}) {
  const seen: Seen[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    seen.push({ method: request.method, url: request.url, headers: request.headers, body });
    bodies.set(request, body);
    listener(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = () => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  };
  closing.push(close);
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { endpoint: endpointAt(`${url}/{domain_prefix}`, changes), seen, url, close };
}

const bodies = new WeakMap<IncomingMessage, string>();

function endpointAt(baseUrl: string, changes: Partial<TokenEndpointOptions> = {}): TokenEndpoint {
  return tokenEndpoint({
    addresses: addressesAt("https://auth.example", baseUrl),
    clientId: "the client",
    clientSecret: CLIENT_SECRET,
    redirectUri: "https://app.example/callback?a=b",
    timeoutMs: 10_000,
    userAgent: "test-agent",
    fetch: (...call) => globalThis.fetch(...call),
    clock: () => T0,
    ...changes,
  });
}

function options(url: string): RetailPosOptions {
  return {
    authUrl: "https://auth.example",
    baseUrl: `${url}/{domain_prefix}`,
    clientId: "the client",
    clientSecret: CLIENT_SECRET,
    redirectUri: "https://app.example/callback",
    clock: () => T0,
  };
}

function answer(status: number, body: unknown, headers: Record<string, string> = {}): RequestListener {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return (_, response) => {
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(text);
  };
}

/** Answers with what it was sent. */
function echo(make: (form: Record<string, string>, body: string) => RequestListener): RequestListener {
  return (request, response) => {
    const body = bodies.get(request) ?? "";
    make(Object.fromEntries(new URLSearchParams(body)), body)(request, response);
  };
}

function all(form: Record<string, string>): string {
  return Object.values(form).join(" ");
}

function cutOff(response: ServerResponse, status: number): void {
  response.writeHead(status, { "content-length": "1000" });
  response.write('{"access_token":', () => response.destroy());
}

function formOf(seen: Seen | undefined): Array<[string, string]> {
  return [...new URLSearchParams(seen?.body)].sort(([a], [b]) => (a < b ? -1 : 1));
}

async function failureOf(work: Promise<unknown>): Promise<RetailPosError> {
  try {
    await work;
  } catch (error) {
    if (isRetailPosError(error)) return error;
    throw error;
  }
  throw new Error("it did not fail");
}

/** For a refresh that salvages: what it returned is not of interest here. */
function fail(): never {
  throw new TokenResponseError("salvaged");
}

/** Everything somebody might print of an error or an event. */
function shown(error: unknown): string {
  const parts = [
    inspect(error, { depth: 10, showHidden: true }),
    inspect(error),
    String(error),
    JSON.stringify(error),
  ];
  if (error instanceof Error) {
    parts.push(error.name, error.message, error.stack ?? "");
    if (error.cause !== undefined) parts.push(shown(error.cause));
    for (const key of Object.getOwnPropertyNames(error)) parts.push(`${key} ${Reflect.get(error, key)}`);
  }
  return parts.join("\n");
}
