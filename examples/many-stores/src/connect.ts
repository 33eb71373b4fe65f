import type { RetailPos } from "@retail-pos/core";
import { type NextFunction, type Request, type Response, Router } from "express";
import type passport from "passport";
import RetailPosStrategy, { type LoginFailureInfo } from "passport-retail-pos";
import { requireLogin } from "./accounts.js";
import type { Memberships } from "./memberships.js";
import type { Records } from "./records.js";
import { showProblem } from "./show-problem.js";
import { readName } from "./store-api.js";
import { domainPrefixOf } from "./stores.js";

/** What Passport calls the account: the store that this person has just connected. */
interface Account extends Express.User {
  readonly domainPrefix: string;
}

declare global {
  namespace Express {
    interface Request {
      account?: Account;
    }
  }
}

/** Why a store was not connected. */
interface Why {
  readonly code: string;
  readonly message: string;
}

/** So long the store is asked for its name, while its page waits. */
const PATIENCE_MS = 3000;

interface Parts {
  people: InstanceType<typeof passport.Passport>;
  client: RetailPos;
  records: Records;
  memberships: Memberships;
  clock?: (() => number) | undefined;
}

/** Connecting a store to somebody who is logged in. `authorize` leaves them logged in as who they are. */
export function connectRoutes({ people, client, records, memberships, clock = Date.now }: Parts): Router {
  people.use(
    new RetailPosStrategy(
      { client, clock, passReqToCallback: true },
      async ({ user }, { domainPrefix }): Promise<Account | null> => {
        if (!user) return null;
        await memberships.join(user.id, domainPrefix); // before the tokens are kept, see there
        return { ...user, domainPrefix };
      },
    ),
  );

  const router = Router();
  router.use("/auth/retail-pos", requireLogin);
  router.get("/auth/retail-pos", people.authorize("retail-pos"));
  router.get("/auth/retail-pos/callback", finish, goToStore);
  return router;

  /** The service sends the browser back here. */
  function finish(req: Request, res: Response, next: NextFunction): void {
    const answer = (error: unknown, account?: Account | false, info?: LoginFailureInfo, status = 401) => {
      if (isAnswerOfService(error)) return fail(req, res.status(502), failedThere(error)).catch(next);
      if (error) return next(error);
      if (!account) return fail(req, res.status(status), info).catch(next);
      req.account = account; // as without a callback of one's own
      next();
    };
    people.authorize("retail-pos", answer)(req, res, next);
  }

  async function goToStore({ account }: Request, res: Response): Promise<void> {
    if (!account) throw new Error("Only a login that succeeded comes here");
    const { domainPrefix } = account;
    const name = await readName(client.retailer(domainPrefix), AbortSignal.timeout(PATIENCE_MS));
    if (name !== undefined) await records.nameStore(domainPrefix, name);
    res.redirect(`/stores/${domainPrefix}`);
  }

  /** A page that says why, in words for whoever runs the store; the developer's words go to the log. */
  async function fail(req: Request, res: Response, info?: Why): Promise<void> {
    const { code = "login_refused", message = "nobody is logged in" } = { ...info };
    const store = domainPrefixOf(req.query["domain_prefix"]);
    // Somebody pressed Back and approved again: their store is connected, and they want its page.
    if (code.startsWith("state_") && store !== undefined && req.user) {
      const own = await records.storeOf(req.user.id, store);
      if (own) return res.redirect(`/stores/${own.domainPrefix}`);
    }
    console.warn(`A store was not connected, ${code}: ${message}`);
    showProblem(res, code, { isConnecting: true });
  }
}

/** The service sent an error in place of a code, and not that somebody declined. For Passport that is an exception. */
function isAnswerOfService(error: unknown): error is Error {
  return error instanceof Error && error.name === "AuthorizationError";
}

const failedThere = ({ message }: Error): Why => ({ code: "authorization_failed", message });
