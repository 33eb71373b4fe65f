import type { Request } from "express";
import {
  isOpen,
  loginWith,
  MOST_PENDING,
  pendingLoginsIn,
  type SpentStates,
} from "../../../login/src/parts.js";
import { browsersOf } from "./browser-cookie.js";
import { type SessionLogin, type StartedIn, startedLogins } from "./logins-in-memory.js";
import { put, type Session, sessionIdOf, userIn } from "./sessions.js";

/** The logins under way of the browser that sent a request: in its session, and those that the session has lost. */
export interface BrowserLogins {
  /** Those in the session. */
  inSession(session: Session): SessionLogin[];
  add(req: Request, session: Session, login: SessionLogin): void;
  /**
   * The login with this state: in the session, else among those that this process started in it or for this browser.
   * The browser does not count if its session has no logins at all: somebody may have emptied it. Nor does it if
   * somebody else was logged in when the login was started.
   */
  find(req: Request, session: Session, state: string): SessionLogin | undefined;
  /** The logins that may still be finished, of those given and those that this process remembers; the oldest first. */
  stillUnderWay(req: Request, session: Session, inSession: readonly SessionLogin[]): SessionLogin[];
  /** Removes the login with this state, and leaves the others in the session. */
  remove(req: Request, session: Session, state: string): void;
}

export interface BrowserLoginOptions {
  /** The session's slot for the logins under way. */
  readonly key: string;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly spent: SpentStates;
}

/**
 * Of JSON, for a session that is a cookie. A browser drops a cookie of more than 4,096 bytes, and with it who is logged
 * in. Encryption and base64 make it longer by a third, and the application keeps something there, too.
 */
const MOST_BYTES_IN_COOKIE = 2_000;

export function browserLogins({ key, clock, spent }: BrowserLoginOptions): BrowserLogins {
  const started = startedLogins(clock);
  const inSession = (session: Session) => pendingLoginsIn<SessionLogin>(session[key]);
  return {
    inSession,
    add(req, session, login) {
      const sessionId = sessionIdOf(req, session);
      const pending = [...inSession(session), login].slice(-MOST_PENDING);
      put(session, key, sessionId === undefined ? fitting(pending) : pending);
      started.add(login, sessionId);
    },
    find(req, session, state) {
      const pending = inSession(session);
      const browsers = pending.length > 0 ? browsersOf(req) : [];
      return loginWith(state, pending) ?? started.find(state, placeOf(req, session, browsers));
    },
    stillUnderWay,
    remove(req, session, state) {
      started.remove(state);
      put(session, key, stillUnderWay(req, session, inSession(session)));
    },
  };

  function stillUnderWay(req: Request, session: Session, pending: readonly SessionLogin[]): SessionLogin[] {
    const here = started.in(placeOf(req, session, browsersOf(req)));
    const known = new Map([...here, ...pending].map((login) => [login.handle, login]));
    return [...known.values()]
      .filter((login) => isOpen(login, spent, clock()))
      .sort((one, other) => one.startedAt - other.startedAt)
      .slice(-MOST_PENDING);
  }
}

/** The newest logins that a session in a cookie has room for: one at least, whatever its length. */
function fitting(pending: readonly SessionLogin[]): readonly SessionLogin[] {
  const bytes = Buffer.byteLength(JSON.stringify(pending));
  return bytes <= MOST_BYTES_IN_COOKIE || pending.length === 1 ? pending : fitting(pending.slice(1));
}

function placeOf(req: Request, session: Session, browsers: readonly string[]): StartedIn {
  return { sessionId: sessionIdOf(req, session), browsers, user: userIn(session) };
}
