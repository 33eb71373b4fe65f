import type { RetailPos } from "@retail-pos/core";
import { type NextFunction, type Request, type Response, Router } from "express";
import passport from "passport";
import RetailPosStrategy, { type LoginFailureInfo } from "passport-retail-pos";
import { isLoggedInAlready } from "./problems.js";
import { showProblem } from "./show-problem.js";

declare global {
  namespace Express {
    /** Who is logged in: one store. A real application would keep a user of its own here. */
    interface User {
      domainPrefix: string;
    }
  }
}

/** Why a login failed. */
interface Why {
  readonly code: string;
  readonly message: string;
}

/** Everything about logging in and out. */
export function loginRoutes(pos: RetailPos, clock = Date.now): Router {
  passport.use(
    new RetailPosStrategy({ client: pos, clock }, async ({ domainPrefix }) => {
      return { domainPrefix }; // find or create your user here; return null to refuse
    }),
  );
  passport.serializeUser((user, done) => done(null, user.domainPrefix));
  passport.deserializeUser((domainPrefix: string, done) => done(null, { domainPrefix }));

  const router = Router();
  router.use(passport.session());
  router.get("/auth/retail-pos", passport.authenticate("retail-pos"));
  router.get("/auth/retail-pos/callback", finishLogin);
  router.post("/logout", logOut);
  router.get("/disconnect", requireLogin, (req, res) =>
    res.render("disconnect", { store: req.user?.domainPrefix }),
  );
  router.post("/disconnect", requireLogin, async (req, res, next) => {
    if (req.user) await pos.disconnect(req.user.domainPrefix);
    logOut(req, res, next);
  });
  return router;
}

/** Lets nobody through who is not logged in. */
export function requireLogin(req: Request, res: Response, next: NextFunction): void {
  if (req.user) next();
  else res.redirect("/");
}

/** The service sends the browser back here. */
function finishLogin(req: Request, res: Response, next: NextFunction): void {
  const answer = (error: unknown, user?: Express.User | false, info?: LoginFailureInfo, status = 401) => {
    if (isAnswerOfService(error)) return failLogin(req, res.status(502), failedThere(error));
    if (error) return next(error);
    if (!user) return failLogin(req, res.status(status), info);
    req.logIn(user, (problem) => (problem ? next(problem) : res.redirect("/products")));
  };
  passport.authenticate("retail-pos", answer)(req, res, next);
}

/** The service sent an error in place of a code, and not that somebody declined. For Passport that is an exception. */
function isAnswerOfService(error: unknown): error is Error {
  return error instanceof Error && error.name === "AuthorizationError";
}

const failedThere = ({ message }: Error): Why => ({ code: "authorization_failed", message });

/** A page that says why, in words for whoever runs the store; the developer's words go to the log. */
function failLogin(req: Request, res: Response, info?: Why): void {
  const { code = "login_refused", message = "verify refused it" } = { ...info };
  if (isLoggedInAlready(code, req.query["domain_prefix"], req.user?.domainPrefix)) {
    res.redirect("/products");
    return;
  }
  console.warn(`A login failed, ${code}: ${message}`);
  showProblem(req, res, code);
}

function logOut(req: Request, res: Response, next: NextFunction): void {
  req.logout((error) => (error ? next(error) : res.redirect("/")));
}
