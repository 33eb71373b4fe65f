import { LoginFailure } from "../failures/login-failure.js";
import { alreadyUsed, type FoundLogin, isInTime, type PendingLogin } from "../pending/pending-logins.js";
import type { SpentStates } from "../pending/spent-states.js";
import {
  ACCESS_DENIED,
  authorizationFailed,
  type Callback,
  declined,
  type Query,
  readCallback,
} from "./callback-query.js";

/** The logins under way in the browser that sent a callback. `Kept` is what their keeper knows of each. */
export interface CallbackStates<Kept> {
  /** Whether a login with this state came along with the callback. Spends nothing. */
  isKnown(state: string): boolean | Promise<boolean>;
  /**
   * Whether a callback that brings an error instead of a code belongs to a login under way.
   *
   * @throws {LoginFailure} why not.
   */
  check(state: string): Promise<void>;
  /**
   * Accepts a callback's state, once in all processes.
   *
   * @throws {LoginFailure} `state_unknown` or `state_expired`.
   */
  spend(state: string): Promise<Kept>;
}

/**
 * The steps of a callback before its code is sent, in the order that matters. An error spends no login.
 *
 * @throws {LoginFailure} the callback finishes no login.
 */
export async function acceptCallback<Kept>(
  query: Query,
  states: CallbackStates<Kept>,
): Promise<{ callback: Callback; kept: Kept }> {
  const callback = readCallback(query);
  if (!("error" in callback)) return { callback, kept: await states.spend(callback.state) };
  const { error, state } = callback;
  if (error === ACCESS_DENIED || !state)
    throw declined(callback, state !== undefined && (await states.isKnown(state)));
  await states.check(state);
  throw authorizationFailed(callback);
}

/** How a place finds a browser's logins, and what makes one of them good. */
export interface KeptLogins<Found extends FoundLogin> {
  find(state: string): Found | Promise<Found>;
  readonly spent: SpentStates;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** A further rule. @throws {LoginFailure} */
  readonly accept?: (login: PendingLogin) => void | Promise<void>;
}

const TOO_LATE = "This login was started more than 15 minutes ago; start it again";

/** The rules of logins that are kept in the browser or its session: each counts once, for 15 minutes. */
export function callbackStates<Found extends FoundLogin>({
  find,
  spent,
  clock,
  accept,
}: KeptLogins<Found>): CallbackStates<Found & { login: PendingLogin }> {
  return {
    isKnown: async (state) => (await find(state)).login !== undefined,
    check: async (state) => void (await underWay(state)),
    async spend(state) {
      const found = await underWay(state);
      if (!(await spent.spend(state))) throw alreadyUsed();
      return found;
    },
  };

  /** @throws {LoginFailure} why the callback may not finish a login. */
  async function underWay(state: string): Promise<Found & { login: PendingLogin }> {
    const found = await find(state);
    const { login } = found;
    if (spent.has(state)) throw alreadyUsed();
    if (!login) throw new LoginFailure("state_unknown", found.whyUnknown);
    if (!isInTime(login, clock())) throw new LoginFailure("state_expired", TOO_LATE);
    await accept?.(login);
    return { ...found, login };
  }
}
