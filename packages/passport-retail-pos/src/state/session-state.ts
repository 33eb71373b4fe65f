import type { Request } from "express";
import {
  alreadyUsed,
  isOpen,
  newLogin,
  ONE_COOKIE_HOSTS,
  type PendingLogin,
  underWay,
} from "../../../login/src/parts.js";
import type { StateKeeper } from "../state-keeper.js";
import { browsersOf, canMarkBrowser, hasOtherCookies, markBrowser } from "./browser-cookie.js";
import { type BrowserLoginOptions, browserLogins } from "./browser-logins.js";
import { carryAcrossRegenerate } from "./keep-logins-on-regenerate.js";
import type { SessionLogin } from "./logins-in-memory.js";
import { put, type Session, save, sessionOf, stillPending, userIn } from "./sessions.js";

export interface SessionStateOptions extends BrowserLoginOptions {
  /** The `redirect_uri` of every login that is not given another; only others are kept with the login. */
  readonly redirectUri: string;
}

/**
 * Keeps logins under way in the session, so that a callback counts only in the browser that started it.
 * Several may be under way at once; each is single-use.
 */
export function sessionState({ key, clock, spent, redirectUri }: SessionStateOptions): StateKeeper {
  const logins = browserLogins({ key, clock, spent });

  return {
    issue(req, applicationState, callbackURL) {
      const session = sessionOf(req);
      const browser = markBrowser(req, /^\s*https:/i.test(callbackURL));
      const user = userIn(session);
      const kept = callbackURL === redirectUri ? undefined : callbackURL;
      const login: SessionLogin = {
        ...newLogin(clock(), { state: applicationState, redirectUri: kept }),
        ...(browser !== undefined && { browser }),
        ...(user !== undefined && { user }),
      };
      logins.add(req, session, login);
      return login.handle;
    },
    isUnderWay(req, state) {
      if (!(req as { session?: unknown }).session) return false;
      const login = logins.find(req, sessionOf(req), state);
      return login !== undefined && isOpen(login, spent, clock());
    },
    check(req, state) {
      loginOf(req, state);
    },
    async spend(req, state) {
      const login = loginOf(req, state);
      if (!(await spent.spend(state))) throw alreadyUsed();
      const session = sessionOf(req);
      logins.remove(req, session, state);
      // At once: another tab may start its login while this one waits for its tokens. The session middleware writes
      // the session at the end of this request, and must not undo that.
      await save(req, session);
      carryOthers(req, session);
      return { state: login.state, redirectUri: login.redirectUri ?? redirectUri };
    },
  };

  /** @throws {LoginFailure} why there is none. */
  function loginOf(req: Request, state: string): SessionLogin {
    const session = sessionOf(req);
    const found = { login: logins.find(req, session, state), isSpent: spent.has(state), now: clock() };
    return underWay({ ...found, whyUnknown: () => whyUnknown(req, logins.inSession(session)) });
  }

  /** The logins of this browser's other tabs move along into the session that this login makes; a stranger's do not. */
  function carryOthers(req: Request, session: Session): void {
    // A stranger who planted the session's id may have logins in it. Only our cookie tells them apart.
    const isOwn = ({ browser }: SessionLogin) =>
      !canMarkBrowser(req) || (browser !== undefined && browsersOf(req).includes(browser));
    const moving = (pending: readonly SessionLogin[]) =>
      logins.stillUnderWay(req, session, pending).filter(isOwn);
    carryAcrossRegenerate(session, {
      known: () => moving(logins.inSession(session)),
      stored: async () => moving(await stillPending(req, session, key)),
      put: (pending) => {
        const { session: current } = req as unknown as { session?: Session | null };
        if (current) put(current, key, pending);
      },
      failed: (error) => req.next?.(error),
    });
  }
}

/** The few real causes of an unknown state, told apart by the request. */
function whyUnknown(req: Request, pending: readonly PendingLogin[]): string {
  if (pending.length > 0) {
    return (
      "The state is none of the logins under way in this session: it was started in another browser or " +
      "session, is older than the last 20 (or those that a session in a cookie has room for), or the callback is forged"
    );
  }
  const check =
    "Check that login and callback use one host name (localhost and 127.0.0.1 are two), that the session " +
    "cookie is SameSite=Lax (Strict is not sent on the way back from the service) and Secure only on https, " +
    "where behind a proxy the proxy has to send `X-Forwarded-Proto: https` and the application has to trust it " +
    `(\`trust proxy\`). ${ONE_COOKIE_HOSTS}`;
  return !hasOtherCookies(req)
    ? `The browser sent no cookie of a session back, so the one that started this login is missing. ${check}`
    : `No login is under way in this session: its cookie was not sent back, or its store was emptied (sessions in memory do not outlive a restart). ${check}`;
}
