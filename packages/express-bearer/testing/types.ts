// Read by tsc alone, in `pnpm types`: whatever stands here holds if it compiles. Nothing of it is ever run.

import { retailPos } from "@retail-pos/core";
import express, { type Request, type RequestHandler, type Response, Router } from "express";
import { expectTypeOf } from "vitest";
import { bearer, type RequestBearer } from "../src/index.js";

const client = retailPos({
  baseUrl: "https://{domain_prefix}.example.com",
  clientId: "the-application",
  clientSecret: "the-client-secret",
});
const app = express();

export const types = {
  "req.retailPos is typed by importing the package"() {
    app.use(bearer({ client, retailer: (req) => req.get("x-store") }), (req) => {
      expectTypeOf(req.retailPos).toEqualTypeOf<RequestBearer>();
    });
  },

  "retailer may be written for a route's own request, and the handler has its parameters"() {
    const storeOf = async (req: Request<{ store: string }>) => req.params.store;
    app.get("/stores/:store/products", bearer({ client, retailer: storeOf }), async (req, res) => {
      expectTypeOf(req.params).toEqualTypeOf<{ store: string }>();
      expectTypeOf(req.retailPos).toEqualTypeOf<RequestBearer>();
      res.json(await (await req.retailPos.fetch("api/products")).json());
    });
  },

  "a bearer for a route's own request may be made before the route"() {
    const fresh = bearer({ client, retailer: (req: Request<{ store: string }>) => req.params.store });
    app.get("/stores/:store", fresh, (req) => void req.params.store.length);
    app.post("/stores/:store/products", fresh, (req) => void req.params.store.length);
    Router({ mergeParams: true }).use(fresh);
  },

  "so may one that reads a query or a body of its own"() {
    type Asked = Request<{ store: string }, { ok: boolean }, { day: string }, { page: string }>;
    const storeOf = (req: Asked) => `${req.params.store}${req.query.page}${req.body.day}`;
    app.post("/stores/:store", bearer({ client, retailer: storeOf }), (req, res) => {
      expectTypeOf(req.query).toEqualTypeOf<{ page: string }>();
      res.json({ ok: req.body.day !== "" });
    });
  },

  "retailer without a type knows every request"() {
    const fresh = bearer({ client, retailer: (req) => String(req.params["store"]) });
    app.get("/stores/:store", fresh, (req) => void req.retailPos.fetch("api/products"));
    app.get("/stores/:store", bearer({ client, retailer: (req) => req.params["store"] as string }));
    app.use("/api", fresh);
    app.use(fresh, bearer({ client, retailer: (req) => req.get("x-store"), optional: true }));
    app.all("/any", [fresh, fresh]);
    app.get("/typed", fresh, (_req, res: Response<{ ok: boolean }>) => void res.json({ ok: true }));
    const typed: RequestHandler<{ store: string }, { ok: boolean }> = (_req, res) =>
      void res.json({ ok: true });
    app.get("/stores/:store", fresh, typed);
    const handler: RequestHandler = fresh;
    app.use([handler, fresh]);
    app.route("/route").get(fresh, (_req, res) => void res.end());
  },

  "an application's own members of a request are there by declaring them"() {
    interface Account {
      stores: string[];
    }
    const storeOf = (req: Request & { account?: Account }) => req.account?.stores[0];
    app.use(bearer({ client, retailer: storeOf }));
    app.use(
      bearer({
        client,
        retailer: ({ user }: { user?: { domainPrefix: string } | undefined }) => user?.domainPrefix,
      }),
    );
  },
};
