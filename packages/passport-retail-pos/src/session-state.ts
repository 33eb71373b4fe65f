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
  save?: (done: (error?: unknown) => void) => unknown;
  regenerate?: (done?: (error?: unknown) => void) => unknown;
};

/** What express-session puts on the request. */
interface SessionStore {
  get?(id: string, done: (error: unknown, session?: Session | null) => void): void;
}

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
    async spend(req, state) {
      const session = sessionOf(req);
      const pending = pendingIn(session, key);
      const login = pending.filter(({ handle }) => isSame(handle, state))[0];
      if (spent.has(state)) throw new LoginFailure("state_unknown", ALREADY_USED);
      if (!login) throw new LoginFailure("state_unknown", whyUnknown(req, pending));
      if (clock() - login.startedAt >= LIFETIME_MS) throw new LoginFailure("state_expired", EXPIRED);
      remember(state);
      put(
        session,
        key,
        pending.filter((other) => other !== login),
      );
      // At once: another tab may start its login while this one waits for its tokens, and what is written
      // at the end of this request must not undo that.
      await save(req, session);
      carryAcrossRegenerate(req, session);
      return login.state;
    },
  };

  /**
   * Passport's `req.logIn` gives the session a new id and empties it, against session fixation. The logins
   * of the other tabs move along, also those started since this request read its session.
   */
  function carryAcrossRegenerate(req: Request, session: Session): void {
    const { regenerate } = session;
    if (typeof regenerate !== "function") return;
    const value = async (done?: (error?: unknown) => void): Promise<void> => {
      try {
        const pending = (await stillPending(req, session, key)).filter(({ handle }) => !spent.has(handle));
        await new Promise<void>((resolve, reject) => {
          regenerate.call(session, (error) => (error ? reject(error) : resolve()));
        });
        put(sessionOf(req), key, pending);
      } catch (error) {
        if (!done) throw error;
        return done(error);
      }
      done?.();
    };
    // Not enumerable: it is no data, and session stores write what is enumerable.
    Object.defineProperty(session, "regenerate", { value, configurable: true, writable: true });
  }

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
    "cookie is SameSite=Lax (Strict is not sent on the way back from the service) and Secure only on https, " +
    "where behind a proxy the application has to trust it (`trust proxy`)";
  return req.headers?.cookie === undefined
    ? `The browser sent no cookie back, so the session that started this login is missing. ${check}`
    : `No login is under way in this session: its cookie was not sent back, or its store was emptied (sessions in memory do not outlive a restart). ${check}`;
}

/** @throws {Error} without session middleware: the application has to be mended, nobody can log in. */
function sessionOf(req: Request): Session {
  const session = (req as unknown as { session?: Session | null }).session;
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

function isExpressSession(req: Request): boolean {
  return typeof (req as { sessionStore?: SessionStore }).sessionStore?.get === "function";
}

/** Writes the session now, where it can be written. */
function save(req: Request, session: Session): Promise<void> {
  return new Promise((resolve, reject) => {
    // An older koa-session's takes no callback: it only notes that the session is to be written in the end.
    // express-session's takes one, though its wrapper does not declare it.
    const takesCallback = isExpressSession(req) || (session.save?.length ?? 0) > 0;
    if (typeof session.save !== "function" || !takesCallback) resolve();
    else session.save((error) => (error ? reject(error) : resolve()));
  });
}

/** The logins under way as the session store has them now; as this request knows them, where it cannot be asked. */
function stillPending(req: Request, session: Session, key: string): Promise<PendingLogin[]> {
  const { sessionStore, sessionID } = req as { sessionStore?: SessionStore; sessionID?: string };
  const known = pendingIn(session, key);
  return new Promise((resolve) => {
    if (typeof sessionStore?.get !== "function" || sessionID === undefined) return resolve(known);
    sessionStore.get(sessionID, (error, stored) =>
      resolve(error || !stored ? known : pendingIn(stored, key)),
    );
  });
}
