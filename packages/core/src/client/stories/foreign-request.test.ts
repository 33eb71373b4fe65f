import { getRequestListener } from "@hono/node-server";
import { Request as UndiciRequest } from "undici";
import { afterEach, describe, expect, test, vi } from "vitest";
import { shop } from "../../../testing/retailer-client.js";

// A `Request` is known by what it can do: its class may be another copy's, or one that a library puts in its place.

const Platform = globalThis.Request;

afterEach(() => vi.unstubAllGlobals());

/** What `@hono/node-server` puts in the place of the platform's classes. */
function honosRequest(): typeof Request {
  const before = { Request: globalThis.Request, Response: globalThis.Response };
  getRequestListener(() => new Response(), { overrideGlobalObjects: true });
  const { Request } = globalThis;
  Object.assign(globalThis, before);
  return Request;
}

const makers: Record<string, (url: string, init?: RequestInit) => Request> = {
  "the platform's": (url, init) => new Platform(url, init),
  "undici's, from npm": (url, init) => new UndiciRequest(url, init as object) as unknown as Request,
  "one of Hono's class, which replaces the platform's": (url, init) => {
    vi.stubGlobal("Request", honosRequest());
    return new globalThis.Request(url, init);
  },
  "the platform's, made before Hono replaced the class": (url, init) => {
    const request = new Platform(url, init);
    vi.stubGlobal("Request", honosRequest());
    return request;
  },
};

describe.each(Object.entries(makers))("a Request (%s)", (_, make) => {
  test("is sent with its method, headers and body, and again after a 401", async () => {
    const { client, seen } = await shop({ accepts: "access-2" });
    const init = { method: "PUT", body: "tea", headers: { "x-mark": "1", authorization: "Bearer another" } };
    const answer = await client.fetch(make(`${client.baseUrl}/api/products/1?x=1`, init));
    expect(answer.status).toBe(200);
    expect(seen).toHaveLength(2);
    for (const { method, url, headers, body } of seen) {
      expect({ method, url, mark: headers["x-mark"], body }).toEqual({
        method: "PUT",
        url: expect.stringMatching(/\/api\/products\/1\?x=1$/),
        mark: "1",
        body: "tea",
      });
    }
    expect(seen.map(({ headers }) => headers.authorization)).toEqual(["Bearer access-1", "Bearer access-2"]);
  });

  test("may get another body from init", async () => {
    const { client, seen } = await shop();
    const request = make(`${client.baseUrl}/api/sales`, { method: "POST", body: "tea" });
    expect((await client.fetch(request, { body: "coffee" })).status).toBe(200);
    expect(seen[0]).toMatchObject({ method: "POST", body: "coffee" });
  });

  test("for another origin is refused, and nothing is sent", async () => {
    const { client, seen } = await shop();
    await expect(client.fetch(make("https://other.example/api/products"))).rejects.toThrow(/another origin/);
    expect(seen).toEqual([]);
  });

  test("whose body was read before is refused, and nothing is sent", async () => {
    const { client, seen } = await shop();
    const request = make(`${client.baseUrl}/api/sales`, { method: "POST", body: "tea" });
    await request.text();
    await expect(client.fetch(request)).rejects.toThrow(TypeError);
    expect(seen).toEqual([]);
  });
});

test("what only looks like an address is none: an object without a request's methods is refused", async () => {
  const { client, seen } = await shop();
  await expect(client.fetch({ url: `${client.baseUrl}/api` } as never)).rejects.toThrow(TypeError);
  expect(seen).toEqual([]);
});
