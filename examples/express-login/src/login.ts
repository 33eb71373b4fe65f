import type { RetailPos } from "@retail-pos/core";
import { type NextFunction, type Request, type Response, Router } from "express";
import passport from "passport";
import RetailPosStrategy, { type LoginFailureInfo } from "passport-retail-pos";
import type { Connections } from "./connections.js";

declare global {
  namespace Express {
    /** Who is logged in: one store. A real application would keep a user of its own here. */
    interface User {
      domainPrefix: string;
      connection?: string;
    }
  }
}

/** Why nobody was logged in. The message is for developers. */
export class LoginFailure extends Error {
  readonly code: string;
  readonly status: number;

  constructor(code: string, message: string, status: number) {
    super(message);
    this.code = code;
    this.status = status;
  }
}

/** Everything about logging in and out. */
export function loginRoutes(pos: RetailPos, connections: Connections, clock = Date.now): Router {
  const people = new passport.Passport(); // not the one of the module, which all applications of a process share
  people.use(
    new RetailPosStrategy({ client: pos, clock, logFailures: false }, async ({ domainPrefix }) => {
      // find or create your user here; return null to refuse
      return { domainPrefix, connection: await connections.ofLogin(domainPrefix) };
    }),
  );
  people.serializeUser((user, done) => done(null, user));
  people.deserializeUser((user: Express.User, done) => {
    const check = (now?: string) => done(null, now !== undefined && user.connection === now && user);
    connections.now(user.domainPrefix).then(check, done);
  });

  return Router()
    .use(people.session())
    .get("/auth/retail-pos", people.authenticate("retail-pos"))
    .get("/auth/retail-pos/callback", (req, res, next) => finishLogin(people, req, res, next))
    .post("/logout", logOut)
    .post("/disconnect", async (req, res, next) => {
      if (req.user) await pos.disconnect(req.user.domainPrefix);
      logOut(req, res, next);
    });
}

/** The service sends the browser back here. */
function finishLogin(people: passport.Authenticator, req: Request, res: Response, next: NextFunction): void {
  const answer = (
    error: Error | null,
    user?: Express.User | false,
    info?: LoginFailureInfo,
    status = 401,
  ) => {
    // The service sent an error in place of a code. For Passport that is an exception.
    if (error?.name === "AuthorizationError")
      return next(new LoginFailure("authorization_failed", error.message, 502));
    if (error) return next(error);
    if (user) return req.logIn(user, (problem) => (problem ? next(problem) : res.redirect("/products")));
    const { code = "login_refused", message = "verify refused it" } = { ...info };
    // Somebody who is logged in pressed Back and approved again: they want their page, not a failure.
    const isAgain = req.user && req.user.domainPrefix === req.query["domain_prefix"];
    if (isAgain && code.startsWith("state_")) return res.redirect("/products");
    next(new LoginFailure(code, message, status));
  };
  people.authenticate("retail-pos", answer)(req, res, next);
}

function logOut(req: Request, res: Response, next: NextFunction): void {
  req.logout((error) => (error ? next(error) : res.redirect("/")));
}
