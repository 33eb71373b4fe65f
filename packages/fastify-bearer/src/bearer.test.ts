import { NotConnectedError, retailPos } from "@retail-pos/core";
import Fastify, { type FastifyRequest } from "fastify";
import { describe, expect, expectTypeOf, test } from "vitest";
import { answerTo, bearerStory, optionsOf } from "../../../test/support/bearer-story.js";
import { bearer, type RequestBearer } from "./index.js";

const headerOf = ({ headers }: FastifyRequest, name: string) => headers[name] as string | undefined;
const personalToken = { baseUrl: "https://{domain_prefix}.example.com", domainPrefix: "shop", token: "t" };
const client = retailPos({
  baseUrl: "https://{domain_prefix}.example.com",
  clientId: "id",
  clientSecret: "secret",
});

bearerStory({
  name: "Fastify 5",
  bearer: (options) => bearer(optionsOf(options, headerOf)),
  app(options) {
    const app = Fastify();
    app.get("/", { preHandler: bearer(optionsOf(options, headerOf)) }, (request) =>
      answerTo(request.retailPos, request.headers),
    );
    return async (req, res) => {
      await app.ready();
      app.routing(req, res);
    };
  },
});

for (const reason of [undefined, null, "route", 0]) {
  test(`a retailer option that fails with ${JSON.stringify(reason)} is an error, never a way on`, async () => {
    const atOnce = () => {
      throw reason;
    };
    for (const retailer of [atOnce, () => Promise.reject(reason)]) {
      const app = Fastify();
      app.get("/", { preHandler: bearer({ client, retailer }) }, () => "passed");
      const { statusCode, body } = await app.inject("/");
      expect([statusCode, body]).toEqual([500, expect.stringContaining("threw what is no error")]);
    }
  });
}

test.each([
  ["ours", "shop", "Bearer t"],
  ["none, if there is no retailer", undefined, undefined],
])("the header is %s, though a hook has assigned request.headers", async (_what, store, expected) => {
  const one = { token: async () => ({ value: "t" }) };
  const client = { retailer: () => one } as never;
  const app = Fastify();
  app.addHook("onRequest", async (request) => {
    request.headers = { ...request.headers, Authorization: "Bearer visitor", "x-tenant": "a" };
  });
  app.addHook("preHandler", bearer({ client, retailer: () => store, optional: true, header: true }));
  app.get("/", ({ headers, raw }) => ({ headers, raw: raw.headers }));
  const { headers, raw } = (
    await app.inject({ url: "/", headers: { authorization: "Bearer visitor" } })
  ).json();
  for (const each of [headers, raw]) expect(each.authorization).toBe(expected);
  expect(headers).not.toHaveProperty("Authorization");
  expect(headers["x-tenant"]).toBe("a");
});

describe("request.retailPos", () => {
  test("is there for all routes of a plugin by addHook, and not beside it", async () => {
    const app = Fastify();
    app.register(async (api) => {
      api.addHook("preHandler", bearer({ personalToken }));
      api.get("/api", (request) => ({ domainPrefix: request.retailPos.domainPrefix }));
    });
    app.get("/beside", (request) => ({ isThere: "retailPos" in request }));
    expect((await app.inject("/api")).json()).toEqual({ domainPrefix: "shop" });
    expect((await app.inject("/beside")).json()).toEqual({ isThere: false });
  });

  test("is not what a bearer before this one found", async () => {
    const client = { retailer: () => ({ token: () => Promise.reject(new NotConnectedError()) }) } as never;
    const nobody = bearer({ client, retailer: () => "shop", optional: true });
    const app = Fastify();
    app.get("/", { preHandler: [bearer({ personalToken }), nobody] }, (request) => ({
      isThere: request.retailPos !== undefined,
    }));
    expect((await app.inject("/")).json()).toEqual({ isThere: false });
  });

  test("is typed by importing the package, with routes and servers of every kind", () => {
    const app = Fastify();
    const hook = bearer({ personalToken });
    app.get<{ Params: { id: string }; Querystring: { page: number } }>(
      "/:id",
      { preHandler: hook },
      async (request) => {
        expectTypeOf(request.retailPos).toEqualTypeOf<RequestBearer>();
        return request.params.id;
      },
    );
    const storeOf = (request: FastifyRequest<{ Params: { store: string } }>) => request.params.store;
    app.get("/stores/:store", { preHandler: bearer({ client, retailer: storeOf }) }, async () => "passed");
    app.get("/header", { preHandler: bearer({ client, retailer: ({ headers }) => headers.host }) }, () => "");
    app.addHook("onRequest", hook);
    const http2 = Fastify({ http2: true });
    http2.get("/:id", { preHandler: hook }, async (request) => request.retailPos.domainPrefix);
    for (const site of [app, http2]) expect(site.hasRoute({ method: "GET", url: "/:id" })).toBe(true);
  });
});
