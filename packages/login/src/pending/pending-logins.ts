import { LoginFailure } from "../failures/login-failure.js";
import { randomText } from "../values/bytes.js";

/** One login under way, as it is kept between the redirect to the service and its callback (R2). */
export interface PendingLogin {
  /** The `state` that is sent (4.1): 256 random bits. */
  readonly handle: string;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  /** The application's own state, if it gave one. */
  readonly state?: unknown;
  /** The `redirect_uri` that was sent, if it is not the client's own. Its code is traded with the same one (4.2). */
  readonly redirectUri?: string;
}

/** How long a login may take, milliseconds. */
export const LIFETIME_MS: number = 15 * 60_000;

/** How many logins may be under way in one browser; the oldest go first. */
export const MOST_PENDING = 20;

/** A login that starts now. */
export function newLogin(
  now: number,
  { state, redirectUri }: Pick<PendingLogin, "state"> & { redirectUri?: string | undefined },
): PendingLogin {
  return {
    handle: randomText(32),
    startedAt: now,
    ...(state !== undefined && { state }),
    ...(redirectUri !== undefined && { redirectUri }),
  };
}

/** The pending logins in a kept value; entries that are none are left out. */
export function pendingLoginsIn<Login extends PendingLogin>(value: unknown): Login[] {
  return Array.isArray(value) ? value.filter(isPendingLogin<Login>) : [];
}

function isPendingLogin<Login extends PendingLogin>(value: unknown): value is Login {
  const login = value as Partial<PendingLogin> | null;
  return (
    typeof login?.handle === "string" &&
    Number.isFinite(login.startedAt) &&
    ["undefined", "string"].includes(typeof login.redirectUri)
  );
}

/** The login that a callback's state belongs to. */
export function loginWith<Login extends PendingLogin>(
  state: string,
  pending: readonly Login[],
): Login | undefined {
  return pending.filter(({ handle }) => isSame(handle, state))[0];
}

/**
 * Whether a login that started then may still be finished. A start in the future is a clock that was set back; it
 * is good as long as an ordinary one.
 */
export function isInTime({ startedAt }: Pick<PendingLogin, "startedAt">, now: number): boolean {
  return Math.abs(now - startedAt) < LIFETIME_MS;
}

/** Facts about a callback's state. */
export interface StateFound<Login extends PendingLogin> {
  /** The login under way that has this state; absent if there is none. */
  readonly login: Login | undefined;
  /** Whether this process knows that the state has finished a login. */
  readonly isSpent: boolean;
  /** Epoch milliseconds. */
  readonly now: number;
  /** The message if there is no such login: the likely causes. */
  whyUnknown(): string;
}

/**
 * The login that a callback may finish.
 *
 * @throws {LoginFailure} `state_unknown` or `state_expired`.
 */
export function underWay<Login extends PendingLogin>(found: StateFound<Login>): Login {
  const { login, isSpent, now } = found;
  if (isSpent) throw alreadyUsed();
  if (!login) throw new LoginFailure("state_unknown", found.whyUnknown());
  if (isInTime(login, now)) return login;
  throw new LoginFailure("state_expired", "This login was started more than 15 minutes ago; start it again");
}

/** A state that finished a login, here or in another process. */
export function alreadyUsed(): LoginFailure {
  return new LoginFailure(
    "state_unknown",
    "This login is already used: its callback was loaded a second time (reload, back button, double click). " +
      "Start the login again if you are not logged in",
  );
}

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
