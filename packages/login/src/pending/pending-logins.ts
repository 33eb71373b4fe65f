import { LoginFailure } from "../failures/login-failure.js";
import { bytesOf, randomText } from "../values/bytes.js";

/** One login under way, as it is kept between the redirect to the service and its callback (R2). */
export interface PendingLogin {
  /** The `state` that is sent (4.1): 256 random bits. */
  readonly state: string;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  /** The application's own state, if it gave one. */
  readonly appState?: unknown;
  /** The `redirect_uri` that was sent, if it is not the client's own. Its code is traded with the same one (4.2). */
  readonly redirectUri?: string | undefined;
  /** The strategy's alone: a short hash of the person who was logged in when the login started, if one was. */
  readonly user?: string | undefined;
}

/** The login that a callback's state belongs to, in the place where it is kept. */
export interface FoundLogin {
  /** `undefined` if there is none. */
  readonly login: PendingLogin | undefined;
  /** The message if there is none: the likely causes. */
  readonly whyUnknown: string;
}

/** How long a login may take, milliseconds. */
export const LIFETIME_MS: number = 15 * 60_000;

/**
 * Of what is kept for one browser's logins together; the oldest go first. It may lie in a session that is a cookie,
 * which browsers drop beyond 4,096 bytes: encryption and base64 make it longer by a third, and the application keeps
 * something there, too.
 */
const MOST_BYTES = 2_000;

/** A login that starts now. */
export function newLogin(now: number, facts: Omit<PendingLogin, "state" | "startedAt">): PendingLogin {
  return { state: randomText(32), startedAt: now, ...facts };
}

/** The newest logins that there is room for: one at least, whatever its length. */
export function newestThatFit(
  logins: readonly PendingLogin[],
  write: (logins: readonly PendingLogin[]) => string,
): readonly PendingLogin[] {
  let newest = logins;
  while (newest.length > 1 && bytesOf(write(newest)).length > MOST_BYTES) newest = newest.slice(1);
  return newest;
}

/** The pending logins in a kept value; entries that are none are left out. */
export function pendingLoginsIn(value: unknown): PendingLogin[] {
  return Array.isArray(value) ? value.filter(isPendingLogin) : [];
}

function isPendingLogin(value: unknown): value is PendingLogin {
  const { state, startedAt, redirectUri = "" } = Object(value);
  return typeof state === "string" && Number.isFinite(startedAt) && typeof redirectUri === "string";
}

/** The login that a callback's state belongs to. */
export function loginWith(state: string, pending: readonly PendingLogin[]): PendingLogin | undefined {
  return pending.filter((login) => isSame(login.state, state))[0];
}

/**
 * Whether a login that started then may still be finished. A start in the future is a clock that was set back; it
 * is good as long as an ordinary one.
 */
export function isInTime({ startedAt }: Pick<PendingLogin, "startedAt">, now: number): boolean {
  return Math.abs(now - startedAt) < LIFETIME_MS;
}

/** A state that finished a login, here or in another process. */
export function alreadyUsed(): LoginFailure {
  return new LoginFailure(
    "state_unknown",
    "This login is already used: its callback was loaded a second time (reload, back button, double click). " +
      "Start the login again if you are not logged in",
  );
}

/** Why a state is unknown where other logins are under way. */
export const NOT_THIS_ONE: string =
  "The state is none of the logins under way in this browser: it was finished already (reload, back button) or " +
  "started in another browser or session, newer logins took its place, or the callback is forged";

/** For messages about a cookie that did not come back. */
export const ONE_COOKIE_HOSTS: string =
  "Some hosts let only a cookie named `__session` through to the application (Firebase Hosting)";

/** Takes the same time wherever the two texts differ. */
function isSame(one: string, other: string): boolean {
  let difference = one.length ^ other.length;
  for (let index = 0; index < one.length; index += 1)
    difference |= one.charCodeAt(index) ^ other.charCodeAt(index);
  return difference === 0;
}
