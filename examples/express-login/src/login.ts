import { type RetailPos, retailerState } from "@retail-pos/core";
import { type NextFunction, type Request, type RequestHandler, type Response, Router } from "express";
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
    .get("/auth/retail-pos/callback", finishLogin(pos, people))
    .post("/logout", logOut)
    .post("/disconnect", async (req, res, next) => {
      if (req.user) await pos.disconnect(req.user.domainPrefix);
      logOut(req, res, next);
    });
}

/** The service sends the browser back here. */
function finishLogin(pos: RetailPos, people: passport.Authenticator): RequestHandler {
  return (req, res, next) => {
    const answer = async (
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
      if (code.startsWith("state_") && (await isTheirs(req))) return res.redirect("/products");
      next(new LoginFailure(code, message, status));
    };
    const done = (...args: Parameters<typeof answer>) => void answer(...args).catch(next);
    people.authenticate("retail-pos", done)(req, res, next);
  };

  /** Somebody who is logged in pressed Back and approved again. They want their page, if it has their store's data. */
  async function isTheirs({ user, query }: Request): Promise<boolean> {
    if (!user || user.domainPrefix !== String(query["domain_prefix"]).toLowerCase()) return false;
    return (await retailerState(pos, user.domainPrefix)).state === "connected";
  }
}

function logOut(req: Request, res: Response, next: NextFunction): void {
  req.logout((error) => (error ? next(error) : res.redirect("/")));
}
