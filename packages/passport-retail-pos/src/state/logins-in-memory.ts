import { isInTime, MOST_PENDING, type PendingLogin } from "../../../login/src/parts.js";
import { hashOf } from "./hash.js";

/** A login under way, as it lies in a session. */
export interface SessionLogin extends PendingLogin {
  /** Which browser started it, if that could be told. */
  readonly browser?: string;
  /** Who was logged in when it was started: a hash; absent for nobody. */
  readonly user?: string;
}

/**
 * The logins that this process started: a session store that writes whole sessions loses some of those started at once.
 */
export interface StartedLogins {
  /** Keeps a login, in a session with an id or of a marked browser; of each, the newest. */
  add(login: SessionLogin, sessionId: string | undefined): void;
  /** The login with this state, if it was started there. */
  find(state: string, where: StartedIn): SessionLogin | undefined;
  /** All logins that were started there. */
  in(where: StartedIn): SessionLogin[];
  remove(state: string): void;
}

/**
 * Where a login may have been started: in a session, or by a browser, which may have had another session then. A
 * browser's counts for the user who started it only: in between, somebody else may have logged in.
 */
export interface StartedIn {
  readonly sessionId: string | undefined;
  readonly browsers: readonly string[];
  readonly user: string | undefined;
}

interface Started {
  /** As a session store would keep it, so that the application's state comes back the same. */
  readonly json: string;
  readonly startedAt: number;
  /** The hash of its id. */
  readonly session: string | undefined;
  readonly browser: string | undefined;
  readonly user: string | undefined;
}

interface Place {
  readonly session: string | undefined;
  readonly browsers: readonly string[];
  readonly user: string | undefined;
}

/** Per process; the oldest go first. */
const MOST_STARTED = 5_000;
/** Characters. A login with a larger application state is kept in its session only. */
const LONGEST_STARTED = 4_096;

/** @param clock epoch milliseconds. */
export function startedLogins(clock: () => number): StartedLogins {
  const started = new Map<string, Started>(); // in the order of time

  return {
    add(login, sessionId) {
      const { handle, startedAt, browser, user } = login;
      const json = jsonOf(login);
      if (json === undefined || (sessionId === undefined && browser === undefined)) return;
      makeRoom();
      const place = placeOf({ sessionId, browsers: browser === undefined ? [] : [browser], user });
      started.set(hashOf(handle), { json, startedAt, session: place.session, browser, user });
      const together = [...started].filter(([, one]) => isIn(one, place)).map(([key]) => key);
      for (const key of together.slice(0, -MOST_PENDING)) started.delete(key);
    },
    find(state, where) {
      const found = started.get(hashOf(state));
      return found && isIn(found, placeOf(where)) ? JSON.parse(found.json) : undefined;
    },
    in(where) {
      const place = placeOf(where);
      return [...started.values()].filter((one) => isIn(one, place)).map(({ json }) => JSON.parse(json));
    },
    remove(state) {
      started.delete(hashOf(state));
    },
  };

  function makeRoom(): void {
    const now = clock();
    for (const [key, one] of started) {
      if (started.size < MOST_STARTED && isInTime(one, now)) break;
      started.delete(key);
    }
  }
}

/** Session ids and browsers are kept as hashes, so the time that a comparison takes shows nothing of them. */
function isIn({ session, browser, user }: Started, here: Place): boolean {
  if (session !== undefined && session === here.session) return true;
  const isOfUser = user === undefined || user === here.user;
  return isOfUser && browser !== undefined && here.browsers.includes(browser);
}

function placeOf({ sessionId, ...more }: StartedIn): Place {
  return { session: sessionId === undefined ? undefined : hashOf(sessionId), ...more };
}

/** `undefined` if JSON cannot hold it, so that a session store cannot either, or if it is too large. */
function jsonOf(login: SessionLogin): string | undefined {
  try {
    const json = JSON.stringify(login);
    return json.length <= LONGEST_STARTED ? json : undefined;
  } catch {
    return undefined;
  }
}
