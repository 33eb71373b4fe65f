import { randomBytes } from "node:crypto";
import type { Request } from "express";
import { browsersOf, canMarkBrowser, hasOtherCookies, markBrowser } from "./browser.js";
import { LoginFailure } from "./login-failure.js";
import { isInTime, isSame, MOST_PENDING, type PendingLogin, pendingLoginsIn } from "./pending-login.js";
import { carryAcrossRegenerate } from "./regenerate.js";
import { put, type Session, save, sessionIdOf, sessionOf, stillPending } from "./sessions.js";
import type { SpentStates } from "./spent-states.js";
import { startedLogins } from "./started-logins.js";
import type { StateKeeper } from "./state-keeper.js";

export interface SessionStateOptions {
  /** The session's slot for the logins under way. */
  readonly key: string;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly spent: SpentStates;
  /** The `redirect_uri` that needs no keeping: every login has it that was not given another. */
  readonly redirectUri: string;
}

/**
 * Keeps logins under way in the session, so that a callback counts only in the browser that started it.
 * Several may be under way at once; each is single-use.
 */
export function sessionState({ key, clock, spent, redirectUri }: SessionStateOptions): StateKeeper {
  const started = startedLogins(clock);

  return {
    issue(req, applicationState, callbackURL) {
      const session = sessionOf(req);
      const browser = markBrowser(req, callbackURL.startsWith("https:"));
      const login: PendingLogin = {
        handle: randomBytes(32).toString("base64url"),
        startedAt: clock(),
        ...(applicationState !== undefined && { state: applicationState }),
        ...(callbackURL !== redirectUri && { redirectUri: callbackURL }),
        ...(browser !== undefined && { browser }),
      };
      put(session, key, [...pendingLoginsIn(session[key]), login].slice(-MOST_PENDING));
      started.add(login, sessionIdOf(req, session));
      return login.handle;
    },
    isUnderWay(req, state) {
      if (!(req as { session?: unknown }).session) return false;
      const login = find(req, state);
      return login !== undefined && !spent.has(state) && isInTime(login, clock());
    },
    check(req, state) {
      underWay(req, state);
    },
    async spend(req, state) {
      const login = underWay(req, state);
      if (!(await spent.spend(state))) throw new LoginFailure("state_unknown", ALREADY_USED);
      started.remove(state);
      const session = sessionOf(req);
      put(session, key, others(req, session, pendingLoginsIn(session[key])));
      // At once: another tab may start its login while this one waits for its tokens, and what is written
      // at the end of this request must not undo that.
      await save(req, session);
      carryOthers(req, session);
      return { state: login.state, redirectUri: login.redirectUri ?? redirectUri };
    },
  };

  /** In the session; else what this process knows of it, or of this browser. An emptied session has no logins under way. */
  function find(req: Request, state: string): PendingLogin | undefined {
    const session = sessionOf(req);
    const pending = pendingLoginsIn(session[key]);
    const [login] = pending.filter(({ handle }) => isSame(handle, state));
    const browsers = pending.length > 0 ? browsersOf(req) : [];
    return login ?? started.find(state, { sessionId: sessionIdOf(req, session), browsers });
  }

  /** The logins that are still under way, also those that the session has lost. */
  function others(req: Request, session: Session, inSession: readonly PendingLogin[]): PendingLogin[] {
    const here = { sessionId: sessionIdOf(req, session), browsers: browsersOf(req) };
    const known = new Map([...started.in(here), ...inSession].map((login) => [login.handle, login]));
    return [...known.values()]
      .filter((login) => !spent.has(login.handle) && isInTime(login, clock()))
      .sort((one, other) => one.startedAt - other.startedAt)
      .slice(-MOST_PENDING);
  }

  /** @throws {LoginFailure} why not. */
  function underWay(req: Request, state: string): PendingLogin {
    const login = find(req, state);
    if (spent.has(state)) throw new LoginFailure("state_unknown", ALREADY_USED);
    if (!login)
      throw new LoginFailure("state_unknown", whyUnknown(req, pendingLoginsIn(sessionOf(req)[key])));
    if (!isInTime(login, clock())) throw new LoginFailure("state_expired", EXPIRED);
    return login;
  }

  /** The logins of the other tabs move along into the session that this login makes, and no stranger's. */
  function carryOthers(req: Request, session: Session): void {
    // Whoever planted the session's id has logins of their own in it. Without a cookie nothing tells them apart.
    const isOwn = ({ browser }: PendingLogin) =>
      !canMarkBrowser(req) || (browser !== undefined && browsersOf(req).includes(browser));
    const moving = (inSession: readonly PendingLogin[]) => others(req, session, inSession).filter(isOwn);
    carryAcrossRegenerate(session, {
      known: () => moving(pendingLoginsIn(session[key])),
      stored: async () => moving(await stillPending(req, session, key)),
      put: (pending) => {
        const { session: current } = req as unknown as { session?: Session | null };
        if (current) put(current, key, pending);
      },
    });
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
  return !hasOtherCookies(req)
    ? `The browser sent no cookie of a session back, so the one that started this login is missing. ${check}`
    : `No login is under way in this session: its cookie was not sent back, or its store was emptied (sessions in memory do not outlive a restart). ${check}`;
}
