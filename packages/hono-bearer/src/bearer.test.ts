import { getRequestListener } from "@hono/node-server";
import { NotConnectedError, retailPos } from "@retail-pos/core";
import { type Context, Hono } from "hono";
import { HTTPException } from "hono/http-exception";
import { afterAll, beforeAll, describe, expect, expectTypeOf, test, vi } from "vitest";
import { answerTo, bearerStory, optionsOf } from "../../../test/support/bearer-story.js";
import { bearer, type RequestBearer } from "./index.js";

const headerOf = (c: Context, name: string) => c.req.header(name);
const personalToken = { baseUrl: "https://{domain_prefix}.example.com", domainPrefix: "shop", token: "t" };
const client = retailPos({
  baseUrl: "https://{domain_prefix}.example.com",
  clientId: "id",
  clientSecret: "secret",
});

// Hono's own error handler logs what it answers with 500.
beforeAll(() => void vi.spyOn(console, "error").mockImplementation(() => {}));
afterAll(() => void vi.restoreAllMocks());

bearerStory({
  name: "Hono 4 on Node",
  bearer: (options) => bearer(optionsOf(options, headerOf)),
  app(options) {
    const app = new Hono();
    app.use("/*", bearer(optionsOf(options, headerOf)));
    app.get("/", async (c) => c.json(await answerTo(c.var.retailPos, Object.fromEntries(c.req.raw.headers))));
    return getRequestListener(app.fetch);
  },
  notFound: (message) => new HTTPException(404, { message }),
});

for (const reason of [undefined, null, "route", 0]) {
  test(`a retailer option that fails with ${JSON.stringify(reason)} is an error, never a way on`, async () => {
    const atOnce = () => {
      throw reason;
    };
    for (const retailer of [atOnce, () => Promise.reject(reason)]) {
      const app = new Hono();
      const errors: Error[] = [];
      app.use(bearer({ client, retailer })).get("/", (c) => c.text("passed"));
      app.onError((error, c) => {
        errors.push(error);
        return c.text("failed", 500);
      });
      expect(await (await app.request("/")).text()).toBe("failed");
      expect(errors).toEqual([expect.objectContaining({ cause: reason })]);
    }
  });
}

describe("c.var.retailPos", () => {
  test("is not what a bearer before this one found", async () => {
    const app = new Hono();
    const nobody = () => {
      throw new NotConnectedError();
    };
    app.use(bearer({ personalToken }), bearer({ client, retailer: nobody, optional: true }));
    app.get("/", (c) => c.json({ isThere: c.var.retailPos !== undefined }));
    expect(await (await app.request("/")).json()).toEqual({ isThere: false });
  });

  test("is typed by importing the package", async () => {
    const app = new Hono();
    app.get("/", bearer({ personalToken }), (c) => {
      expectTypeOf(c.var.retailPos).toEqualTypeOf<RequestBearer>();
      expectTypeOf(c.get("retailPos")).toEqualTypeOf<RequestBearer>();
      return c.text(c.var.retailPos.domainPrefix);
    });
    expect(await (await app.request("/")).text()).toBe("shop");
  });
});

test("header: true on a request that cannot take it is an error that says so", async () => {
  const immutable = () => {
    throw new TypeError("immutable"); // as on some platforms
  };
  const request = new Request("https://app.example/");
  Object.assign(request.headers, { set: immutable, delete: immutable });
  const app = new Hono();
  const errors: Error[] = [];
  app.use(bearer({ personalToken, header: true }));
  app.onError((error, c) => {
    errors.push(error);
    return c.text("", 500);
  });
  expect((await app.request(request)).status).toBe(500);
  expect(errors).toEqual([expect.any(TypeError)]);
  expect(errors[0]?.message).toMatch(/^header: true needs/);
});
