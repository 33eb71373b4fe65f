import type { Request } from "express";

/** Keeps the state of logins under way between the redirect to the service and its callback (R2). */
export interface StateKeeper {
  /**
   * Starts a login and returns the state that goes over the wire.
   *
   * @param callbackURL the `redirect_uri` of this login.
   */
  issue(req: Request, applicationState: unknown, callbackURL: string): string | Promise<string>;
  /** Whether a login with this state is known to be under way. Spends nothing. */
  isUnderWay(req: Request, state: string): boolean;
  /**
   * Whether a callback that brings an error instead of a code belongs to a login under way.
   *
   * @throws {LoginFailure} why not.
   */
  check(req: Request, state: string, callbackURL: () => string): void | Promise<void>;
  /**
   * Accepts a callback's state, once in all processes.
   *
   * @param callbackURL gives the `redirect_uri` as this request would have it, for a keeper that has not kept it.
   * @throws {LoginFailure} `state_unknown` or `state_expired`.
   */
  spend(req: Request, state: string, callbackURL: () => string): Promise<FinishedState>;
}

/** The facts that were kept with a login. */
export interface FinishedState {
  /** The application's own state. */
  readonly state: unknown;
  /** The `redirect_uri` that was sent; the same has to be sent with the code (4.2). */
  readonly redirectUri: string;
}
