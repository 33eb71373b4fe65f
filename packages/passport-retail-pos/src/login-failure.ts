/** Why a login was not let in; what a custom callback finds in `info.code`. */
export type LoginFailureCode =
  | "access_denied"
  | "state_missing"
  | "state_unknown"
  | "state_expired"
  | "invalid_domain_prefix"
  | "invalid_callback"
  | "code_refused"
  | "retailer_not_accepted";

/** What Passport hands on as `info` (or shows as `failureMessage`). Nothing in it comes from a stranger's query. */
export interface LoginFailureInfo {
  /** Which of the reasons. */
  readonly code: LoginFailureCode;
  /** What happened, and what to look at. */
  readonly message: string;
}

const STATUS: Record<LoginFailureCode, 400 | 403> = {
  access_denied: 403,
  state_missing: 403,
  state_unknown: 403,
  state_expired: 403,
  invalid_domain_prefix: 400,
  invalid_callback: 400,
  code_refused: 403,
  retailer_not_accepted: 403,
};

/** Thrown inside a login to end it with `fail(info, status)`; it never leaves the strategy. */
export class LoginFailure extends Error {
  readonly info: LoginFailureInfo;
  readonly status: number;

  constructor(code: LoginFailureCode, message: string) {
    super(message);
    this.info = { code, message };
    this.status = STATUS[code];
  }
}
