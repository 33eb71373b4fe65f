// Read by tsc alone, in `pnpm types`: whatever stands here holds if it compiles. Nothing of it is ever run.

import Router, { type RouterContext } from "@koa/router";
import { retailPos } from "@retail-pos/core";
import Koa, { type Context, type DefaultContext, type Middleware, type ParameterizedContext } from "koa";
import { expectTypeOf } from "vitest";
import { bearer, type RequestBearer } from "../src/index.js";

const client = retailPos({
  baseUrl: "https://{domain_prefix}.example.com",
  clientId: "the-application",
  clientSecret: "the-client-secret",
});

export const types = {
  "ctx.state.retailPos is typed by importing the package"() {
    new Koa().use(async (ctx) => {
      expectTypeOf(ctx.state.retailPos).toEqualTypeOf<RequestBearer>();
    });
  },

  "retailer may be written for a route's own context"() {
    const router = new Router();
    const storeOf = (ctx: RouterContext) => ctx.params["store"];
    router.get("/stores/:store", bearer({ client, retailer: storeOf }), async (ctx) => {
      ctx.body = await ctx.state.retailPos.fetch(`api/products?of=${ctx.params["store"]}`);
    });
    new Koa().use(router.routes());
  },

  "retailer without a type knows every context"() {
    const fresh = bearer({ client, retailer: (ctx) => ctx.get("x-store") });
    new Koa().use(fresh).use(bearer({ client, retailer: ({ params }) => params.store }));
    new Router().get("/stores/:store", fresh, (ctx) => void ctx.state.retailPos.fetch("api/products"));
    const middleware: Middleware = fresh;
    new Koa().use(middleware);
  },

  "retailer may be written for a part of the context, or for a state of the application's own"() {
    interface MyState {
      store?: string;
      retailPos: RequestBearer;
    }
    const app = new Koa<MyState>();
    app.use(bearer({ client, retailer: (ctx) => ctx.state.store }));
    app.use(bearer({ client, retailer: (ctx: { get(name: string): string }) => ctx.get("x-store") }));
    app.use(bearer({ client, retailer: (ctx: Context) => ctx.get("x-store") }));
    const storeOf = (ctx: ParameterizedContext<MyState, DefaultContext>) => ctx.state.store;
    app.use(bearer({ client, retailer: storeOf }));
  },
};
