import type { RetailPos } from "@retail-pos/core";
import { type NextFunction, type Request, type Response, Router } from "express";
import passport from "passport";
import RetailPosStrategy, { type LoginFailureInfo } from "passport-retail-pos";

declare global {
  namespace Express {
    /** Who is logged in: one store. A real application would keep a user of its own here. */
    interface User {
      domainPrefix: string;
    }
  }
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

/** The service sends the browser back here. A login that failed gets a page that says why. */
function finishLogin(req: Request, res: Response, next: NextFunction): void {
  const answer = (error: unknown, user?: Express.User | false, info?: LoginFailureInfo, status = 401) => {
    if (error) return next(error);
    if (!user) return res.status(status).render("login-failed", { code: info?.code, message: info?.message });
    req.logIn(user, (problem) => (problem ? next(problem) : res.redirect("/products")));
  };
  passport.authenticate("retail-pos", answer)(req, res, next);
}

function logOut(req: Request, res: Response, next: NextFunction): void {
  req.logout((error) => (error ? next(error) : res.redirect("/")));
}
