import type { RequestListener } from "node:http";
import { Readable } from "node:stream";
import { inspect } from "node:util";
import nock from "nock";
import { describe, expect, test } from "vitest";
import {
  answer,
  CODE,
  cutOff,
  endpointAt,
  failureOf,
  granted,
  REFRESH,
  served,
  shop,
  shown,
} from "../../../testing/token-endpoint.js";
import {
  ClientRefusedError,
  RateLimitedError,
  ReconnectRequiredError,
  TokenEndpointError,
} from "../../vocabulary/errors.js";

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

  test("and what its target answers says nothing against the refresh token", async () => {
    for (const status of [400, 401]) {
      const page = Response.json({ error: "invalid_grant" }, { status });
      const fetch = async () => Object.defineProperty(page, "redirected", { value: true });
      const endpoint = endpointAt("https://{domain_prefix}.retail.example", { fetch });
      const error = await failureOf(endpoint.refresh(shop, REFRESH));
      expect(error).toBeInstanceOf(TokenEndpointError);
      expect(error.message).toMatch(/redirect/);
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
    expect(error.message).toMatch(
      /could not be used: the network failed \(ECONNREFUSED\): connect ECONNREFUSED$/,
    );
  });

  test("but a 429 whose body is one of Node's streams is a 429", async () => {
    const body = Readable.from(["wait"]);
    const limited = { status: 429, headers: new Headers({ "retry-after": "9" }), body };
    const fetch = (async () => limited) as unknown as typeof globalThis.fetch;
    const endpoint = endpointAt("https://{domain_prefix}.retail.example", { fetch });
    expect(await failureOf(endpoint.refresh(shop, REFRESH))).toBeInstanceOf(RateLimitedError);
    expect(body.destroyed).toBe(true);
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
