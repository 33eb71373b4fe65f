import { retailerState } from "@retail-pos/core";
import { type NextFunction, type Request, type Response, Router } from "express";
import type passport from "passport";
import RetailPosStrategy, { type LoginFailureInfo } from "passport-retail-pos";
import { requireLogin } from "./accounts.js";
import type { Parts } from "./parts.js";
import { showProblem } from "./problem-page.js";
import { readName } from "./store-api.js";

/** What Passport calls the account: the store that this person has just connected. */
type Account = Express.User & { domainPrefix: string };

/** Failed logins of which `observe` has told the log. */
const TOLD_BY_CORE = ["code_refused", "retailer_not_accepted"];
/** How long the store is asked for its name while its page waits. */
const PATIENCE_MS = 3000;

/** Connecting a store to somebody who is logged in. `authorize` leaves them logged in as who they are. */
export function connectRoutes(
  people: InstanceType<typeof passport.Passport>,
  { client, records, memberships }: Parts,
): Router {
  people.use(
    new RetailPosStrategy(
      { client, passReqToCallback: true, logFailures: false }, // `connect` logs them
      async ({ user }, { domainPrefix }): Promise<Account | null> => {
        if (!user) return null;
        await memberships.join(user.id, domainPrefix); // before the tokens are kept
        return { ...user, domainPrefix };
      },
    ),
  );
  return (
    Router()
      .get("/auth/retail-pos", requireLogin)
      // Whoever logged out before the callback is told so.
      .get(["/auth/retail-pos", "/auth/retail-pos/callback"], connect)
  );

  /** Sends the browser to the service, which sends it back here. */
  function connect(req: Request, res: Response, next: NextFunction): void {
    const answer = async (
      error: Error | null,
      account?: Account | false,
      info?: LoginFailureInfo,
      status = 401,
    ) => {
      // The service sent an error in place of a code. For Passport that is an exception.
      if (error?.name === "AuthorizationError") return fail("authorization_failed", error.message, 502);
      if (error) return next(error);
      if (account) return welcome(account.domainPrefix);
      const { code = "login_refused", message = "verify refused it" } = { ...info };
      // Somebody pressed Back and approved again: their store is connected, unless it has to be connected anew.
      const store = String(req.query["domain_prefix"]).toLowerCase();
      const isTheirs = code.startsWith("state_") && req.user && records.storeOf(req.user.id, store);
      if (isTheirs && (await retailerState(client, store)).state === "connected")
        return res.redirect(`/stores/${store}`);
      fail(code, message, status);
    };
    const welcome = async (store: string) => {
      const name = await readName(client.retailer(store), AbortSignal.timeout(PATIENCE_MS));
      if (name) records.nameStore(store, name);
      res.redirect(`/stores/${store}`);
    };
    /** A page in words for the person; the developer's words go to the log, if core has not told it. */
    const fail = (code: string, message: string, status: number) => {
      if (!TOLD_BY_CORE.includes(code)) console.warn(`A store was not connected, ${code}: ${message}`);
      showProblem(res.status(status), code, { message });
    };
    const done = (...args: Parameters<typeof answer>) => void answer(...args).catch(next);
    // Without the `{}`, Passport takes it for `authenticate`.
    people.authorize("retail-pos", {}, done)(req, res, next);
  }
}
