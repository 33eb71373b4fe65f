import type { RequestListener } from "node:http";
import type { RetailPos } from "@retail-pos/core";
import { bearer } from "@retail-pos/express-bearer";
import express from "express";
import session from "express-session";
import { Passport } from "passport";
import RetailPosStrategy from "passport-retail-pos";

declare global {
  namespace Express {
    interface User {
      domainPrefix: string;
    }
  }
}

export function expressApp(pos: RetailPos): RequestListener {
  const passport = new Passport(); // koa-passport, in the same process here, changes the shared one
  passport.use(new RetailPosStrategy({ client: pos }, async ({ domainPrefix }) => ({ domainPrefix })));
  passport.serializeUser((user, done) => done(null, user));
  passport.deserializeUser((user: Express.User, done) => done(null, user));

  const app = express();
  app.use(session({ secret: "for the test", resave: false, saveUninitialized: false }));
  app.use(passport.session());
  app.get("/login", passport.authenticate("retail-pos", { state: { next: "/products" } }));
  app.get("/callback", passport.authenticate("retail-pos"), (req, res) => {
    res.json({ user: req.user, state: req.authInfo?.state });
  });
  app.get(
    "/products",
    bearer({ client: pos, retailer: (req) => req.user?.domainPrefix }),
    (req, res, next) => {
      req.retailPos
        .fetch("api/products")
        .then(async (answer) => res.json(await answer.json()))
        .catch(next);
    },
  );
  return app;
}
