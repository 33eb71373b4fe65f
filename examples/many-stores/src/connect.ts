import type { RetailPos } from "@retail-pos/core";
import { type NextFunction, type Request, type Response, Router } from "express";
import type passport from "passport";
import RetailPosStrategy, { type LoginFailureInfo } from "passport-retail-pos";
import { requireLogin } from "./accounts.js";
import type { Memberships } from "./memberships.js";
import { showProblem } from "./problem-page.js";
import type { Records } from "./records.js";
import { readName } from "./store-api.js";

/** What Passport calls the account: the store that this person has just connected. */
interface Account extends Express.User {
  readonly domainPrefix: string;
}

/** How long the store is asked for its name while its page waits. */
const PATIENCE_MS = 3000;

export interface Parts {
  people: InstanceType<typeof passport.Passport>;
  client: RetailPos;
  records: Records;
  memberships: Memberships;
  clock: () => number;
}

/** Connecting a store to somebody who is logged in. `authorize` leaves them logged in as who they are. */
export function connectRoutes({ people, client, records, memberships, clock }: Parts): Router {
  people.use(
    new RetailPosStrategy(
      { client, clock, passReqToCallback: true },
      async ({ user }, { domainPrefix }): Promise<Account | null> => {
        if (!user) return null;
        await memberships.join(user.id, domainPrefix); // before the tokens are kept
        return { ...user, domainPrefix };
      },
    ),
  );

  const router = Router();
  router.use("/auth/retail-pos", requireLogin);
  router.get("/auth/retail-pos", people.authorize("retail-pos"));
  router.get("/auth/retail-pos/callback", finish);
  return router;

  /** The service sends the browser back here. */
  function finish(req: Request, res: Response, next: NextFunction): void {
    const answer = (error: unknown, account?: Account | false, info?: LoginFailureInfo, status = 401) => {
      // The service sent an error in place of a code. For Passport that is an exception.
      if (error instanceof Error && error.name === "AuthorizationError")
        return fail(req, res.status(502), { code: "authorization_failed", message: error.message });
      if (error) return next(error);
      if (!account) return fail(req, res.status(status), info);
      nameStore(account.domainPrefix)
        .then(() => res.redirect(`/stores/${account.domainPrefix}`))
        .catch(next);
    };
    people.authorize("retail-pos", answer)(req, res, next);
  }

  async function nameStore(domainPrefix: string): Promise<void> {
    const name = await readName(client.retailer(domainPrefix), AbortSignal.timeout(PATIENCE_MS));
    if (name !== undefined) records.nameStore(domainPrefix, name);
  }

  /** A page in words for the person; the developer's words go to the log. */
  function fail({ user, query }: Request, res: Response, info?: { code: string; message: string }): void {
    const { code = "login_refused", message = "the account is not logged in any more" } = { ...info };
    const store = query["domain_prefix"];
    // Somebody pressed Back and approved again: their store is connected.
    const isAgain = code.startsWith("state_") && typeof store === "string";
    if (user && isAgain && records.storeOf(user.id, store)) {
      res.redirect(`/stores/${store}`);
      return;
    }
    console.warn(`A store was not connected, ${code}: ${message}`);
    showProblem(res, code);
  }
}
