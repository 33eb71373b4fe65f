import type { LoginFailureCode as AnyCode } from "@retail-pos/login";

/** Why a login was not let in; a custom callback finds it in `info.code`. */
export type LoginFailureCode = Exclude<AnyCode, "authorization_failed" | "login_refused">;

/**
 * Passport hands this on as `info` (or shows it as `failureMessage`). Of a query it repeats an error's name, and a
 * decline's description if the state is the browser's own.
 */
export interface LoginFailureInfo {
  /** Which of the reasons. */
  readonly code: LoginFailureCode;
  /** What happened, and what to look at. */
  readonly message: string;
}
