/** Why a login was not let in. */
export type LoginFailureCode =
  | "access_denied"
  | "state_missing"
  | "state_unknown"
  | "state_expired"
  | "invalid_domain_prefix"
  | "invalid_callback"
  | "code_refused"
  | "retailer_not_accepted"
  | "authorization_failed"
  | "login_refused";

/** The HTTP status for each of them. */
const STATUS: Record<LoginFailureCode, 400 | 403 | 502> = {
  access_denied: 403,
  state_missing: 403,
  state_unknown: 403,
  state_expired: 403,
  invalid_domain_prefix: 400,
  invalid_callback: 400,
  code_refused: 403,
  retailer_not_accepted: 403,
  authorization_failed: 502,
  login_refused: 403,
};

/** Thrown inside a login to end it with a reason. Nothing in its message comes from a stranger's query. */
export class LoginFailure extends Error {
  /** Which of the reasons. */
  readonly code: LoginFailureCode;
  /** The HTTP status to answer with. */
  readonly status: number;

  /** For `authorization_failed`: the service's error. A stranger may have written it, so no message repeats it. */
  readonly answer?: { readonly error: string; readonly uri: string | undefined };

  /** @param cause core's error, if one says more. */
  constructor(code: LoginFailureCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "LoginFailure";
    this.code = code;
    this.status = STATUS[code];
  }
}
