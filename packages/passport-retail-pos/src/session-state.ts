import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { Request } from "express";
import { LoginFailure } from "./login-failure.js";
import type { StateKeeper } from "./state-keeper.js";

/** One login under way, as it lies in the session. */
interface PendingLogin {
  readonly handle: string;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  /** The application's own state, if it gave one. */
  readonly state?: unknown;
}

/** What express-session and koa-session offer. */
type Session = Record<string, unknown> & {
  regenerate?: (done?: (error?: unknown) => void) => unknown;
};

const LIFETIME_MS = 15 * 60_000;
/** Per session; the oldest go first. */
const MOST_PENDING = 20;
/** Per process. Twenty logins a second for fifteen minutes. */
const MOST_SPENT = 20_000;

/**
 * Keeps logins under way in the session, so that a callback counts only in the browser that started it.
 * Several may be under way at once; each is single-use.
 */
export function sessionState(key: string, clock: () => number): StateKeeper {
  // A session store is not atomic: two copies of one callback may both find their login in it.
  const spent = new Map<string, number>();

  return {
    issue(req, applicationState) {
      const session = sessionOf(req);
      const handle = randomBytes(32).toString("base64url");
      const login = {
        handle,
        startedAt: clock(),
        ...(applicationState !== undefined && { state: applicationState }),
      };
      put(session, key, [...pendingIn(session, key), login].slice(-MOST_PENDING));
      return handle;
    },
    spend(req, state) {
      const session = sessionOf(req);
      const pending = pendingIn(session, key);
      const login = pending.filter(({ handle }) => isSame(handle, state))[0];
      if (spent.has(state)) throw new LoginFailure("state_unknown", ALREADY_USED);
      if (!login) throw new LoginFailure("state_unknown", whyUnknown(req, pending));
      if (clock() - login.startedAt >= LIFETIME_MS) throw new LoginFailure("state_expired", EXPIRED);
      remember(state);
      const others = pending.filter((other) => other !== login);
      put(session, key, others);
      carryAcrossRegenerate(req, session, key, others);
      return login.state;
    },
  };

  function remember(state: string): void {
    const now = clock();
    for (const [old, at] of spent) {
      if (spent.size < MOST_SPENT && now - at < LIFETIME_MS) break; // in the order of time
      spent.delete(old);
    }
    spent.set(state, now);
  }
}

const ALREADY_USED =
  "This login is already used: its callback was loaded a second time (reload, back button, double click). " +
  "Start the login again if you are not logged in";

const EXPIRED = "This login was started more than 15 minutes ago; start it again";

/** The few real causes behind "unable to verify the state", told apart by what the request shows. */
function whyUnknown(req: Request, pending: readonly PendingLogin[]): string {
  if (pending.length > 0) {
    return (
      "The state is none of the logins under way in this session: it was started in another browser or " +
      "session, is older than the last 20, or the callback is forged"
    );
  }
  const check =
    "Check that login and callback use one host name (localhost and 127.0.0.1 are two), that the session " +
    "cookie is SameSite=Lax (Strict is not sent on the way back from the service) and Secure only on https";
  return req.headers?.cookie === undefined
    ? `The browser sent no cookie back, so the session that started this login is missing. ${check}`
    : `No login is under way in this session: its cookie was not sent back or its store was emptied. ${check}`;
}

/** @throws {Error} without session middleware: the application has to be mended, nobody can log in. */
function sessionOf(req: Request): Session {
  const session = (req as { session?: Session | null }).session;
  if (typeof session !== "object" || session === null) {
    throw new Error(
      "Login with store needs a session to keep its state in: put session middleware (express-session, " +
        "koa-session) before passport.authenticate(), or give the strategy a state store of your own as `store`",
    );
  }
  return session;
}

/** What lies in the session under our key, without what is not ours. */
function pendingIn(session: Session, key: string): PendingLogin[] {
  const pending = session[key];
  return Array.isArray(pending) ? pending.filter(isPendingLogin) : [];
}

function put(session: Session, key: string, pending: readonly PendingLogin[]): void {
  if (pending.length > 0) session[key] = pending;
  else delete session[key];
}

function isPendingLogin(value: unknown): value is PendingLogin {
  const login = value as Partial<PendingLogin> | null;
  return typeof login?.handle === "string" && Number.isFinite(login.startedAt);
}

/** Constant time, for any two lengths. */
function isSame(one: string, other: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}

/**
 * Passport's `req.logIn` gives the session a new id and empties it, against session fixation. The other
 * tabs' logins move along.
 */
function carryAcrossRegenerate(
  req: Request,
  session: Session,
  key: string,
  pending: readonly PendingLogin[],
): void {
  const { regenerate } = session;
  if (typeof regenerate !== "function" || pending.length === 0) return;
  const carry = () => put(sessionOf(req), key, pending);
  const value = (done?: (error?: unknown) => void): unknown => {
    if (!done) return Promise.resolve(regenerate.call(session)).then(carry);
    return regenerate.call(session, (error) => {
      if (!error) carry();
      done(error);
    });
  };
  // Not enumerable: it is no data, and session stores write what is enumerable.
  Object.defineProperty(session, "regenerate", { value, configurable: true, writable: true });
}
