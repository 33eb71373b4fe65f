import type { LoginFailureCode as AnyCode } from "@retail-pos/login";

/** Why a login was not let in; what a custom callback finds in `info.code`. */
export type LoginFailureCode = Exclude<AnyCode, "authorization_failed" | "login_refused">;

/** What Passport hands on as `info` (or shows as `failureMessage`). Nothing in it comes from a stranger's query. */
export interface LoginFailureInfo {
  /** Which of the reasons. */
  readonly code: LoginFailureCode;
  /** What happened, and what to look at. */
  readonly message: string;
}
