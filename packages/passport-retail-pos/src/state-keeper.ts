import type { Request } from "express";

/** Keeps the state of logins under way between the redirect to the service and its callback (R2). */
export interface StateKeeper {
  /** Starts a login and returns the state that goes over the wire. */
  issue(req: Request, applicationState: unknown, callbackURL: string | undefined): string | Promise<string>;
  /**
   * Accepts a callback's state, once. Returns the application's own state.
   *
   * @throws {LoginFailure} `state_unknown` or `state_expired`.
   */
  spend(req: Request, state: string, callbackURL: string | undefined): unknown | Promise<unknown>;
}
