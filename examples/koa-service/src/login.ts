import Router from "@koa/router";
import { type RetailPos, retailerState } from "@retail-pos/core";
import type { Context, Middleware } from "koa";
import koaPassport from "koa-passport";
import RetailPosStrategy, { type LoginFailureInfo } from "passport-retail-pos";

/** Who is logged in: one store. */
interface User {
  domainPrefix: string;
}

/** Logging in with a store, and out again. */
export function loginRoutes(pos: RetailPos, clock = Date.now): Middleware[] {
  const passport = new koaPassport.KoaPassport();
  passport.use(
    new RetailPosStrategy({ client: pos, clock }, async ({ domainPrefix }) => {
      return { domainPrefix }; // find or create your user here; return null to refuse
    }),
  );
  passport.serializeUser((user, done) => done(null, user));
  passport.deserializeUser((user: User, done) => done(null, user));

  const router = new Router();
  router.get("/auth/retail-pos", passport.authenticate("retail-pos"));
  router.get("/auth/retail-pos/callback", (ctx, next) => {
    const answer = async (error: Error | null, user: User | false, info?: LoginFailureInfo, status = 401) => {
      // The service sent an error in place of a code. For Passport that is an exception.
      if (error?.name === "AuthorizationError")
        return ctx.throw(502, error.message, { code: "authorization_failed" });
      if (error) throw error;
      if (user) {
        await ctx.login(user);
        return ctx.redirect("/stock");
      }
      const { code = "login_refused", message = "verify refused it" } = { ...info };
      if (code.startsWith("state_") && (await isLoggedInAlready(pos, ctx))) return ctx.redirect("/stock");
      ctx.throw(status, message, { code });
    };
    return passport.authenticate("retail-pos", answer)(ctx, next);
  });
  router.post("/logout", async (ctx) => {
    await ctx.logout();
    ctx.status = 204;
  });
  return [passport.initialize(), passport.session(), router.routes() as Middleware];
}

/** Somebody who is logged in pressed Back and approved again: the first time counted, if their store is connected. */
async function isLoggedInAlready(pos: RetailPos, ctx: Context): Promise<boolean> {
  const user = ctx.state.user as User | undefined;
  if (!user || user.domainPrefix !== String(ctx.query["domain_prefix"]).toLowerCase()) return false;
  return (await retailerState(pos, user.domainPrefix)).state === "connected";
}
