import type { Request } from "express";

/** Keeps the state of logins under way between the redirect to the service and its callback (R2). */
export interface StateKeeper {
  /**
   * Starts a login and returns the state that goes over the wire.
   *
   * @param redirectUri the `redirect_uri` of this login.
   * @throws {TypeError} the application's state is none that can be kept.
   */
  issue(req: Request, applicationState: unknown, redirectUri: string): Promise<string>;
  /** Whether a login with this state is known to be under way in this browser. Spends nothing. */
  isUnderWay(req: Request, state: string): boolean | Promise<boolean>;
  /**
   * Whether a callback that brings an error instead of a code belongs to a login under way.
   *
   * @throws {LoginFailure} why not.
   */
  check(req: Request, state: string, here: CallbackHere): Promise<void>;
  /**
   * Accepts a callback's state, once in all processes.
   *
   * @throws {LoginFailure} `state_unknown` or `state_expired`.
   */
  spend(req: Request, state: string, here: CallbackHere): Promise<FinishedState>;
}

/** What a keeper may want to know of the route that received the callback. */
export interface CallbackHere {
  /** The `redirect_uri` as this request would have it, for a keeper that has not kept it. */
  redirectUri(): string;
  /** Whether the login connects a store to who is logged in (Passport's `authorize`), and logs nobody in. */
  readonly isConnecting: boolean;
}

/** The facts that were kept with a login. */
export interface FinishedState {
  /** The application's own state. */
  readonly state: unknown;
  /** The `redirect_uri` that was sent; the same has to be sent with the code (4.2). */
  readonly redirectUri: string;
  /** To be called once Passport has logged the person in: the logins of this browser's other tabs are theirs, too. */
  readonly loggedIn?: () => void;
}
