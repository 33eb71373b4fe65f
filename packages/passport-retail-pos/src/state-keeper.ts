import type { Request } from "express";
import type { CallbackStates } from "../../login/src/parts.js";

/** Keeps the state of logins under way between the redirect to the service and its callback (R2). */
export interface StateKeeper {
  /**
   * Starts a login.
   *
   * @param login `appState`: the application's own; `redirectUri`: of this login; `mayEvict`: whether the oldest logins
   * may go to make room.
   * @returns the state that goes over the wire; `undefined` if there is no room, and the request may evict no other
   * login.
   * @throws {TypeError} the application's state is none that can be kept.
   */
  issue(
    req: Request,
    login: { appState: unknown; redirectUri: string; mayEvict: boolean },
  ): Promise<{ readonly state: string } | undefined>;
  /** The logins that came along with a request. */
  of(req: Request, route: CallbackRoute): CallbackStates<FinishedState>;
}

/** What a keeper may want to know of the route that received a callback. */
export interface CallbackRoute {
  /** The `redirect_uri` as this request would have it, for a keeper that has not kept it. */
  redirectUri(): string;
  /** Whether the login connects a store to the person who is logged in (Passport's `authorize`), and logs nobody in. */
  readonly isConnecting: boolean;
}

/** The facts that were kept with a login. */
export interface FinishedState {
  /** The application's own state. */
  readonly appState: unknown;
  /** The `redirect_uri` that was sent; the same has to be sent with the code (4.2). */
  readonly redirectUri: string;
  /** To be called once Passport has logged the person in, which may have made a new session. */
  readonly loggedIn?: () => void;
}
