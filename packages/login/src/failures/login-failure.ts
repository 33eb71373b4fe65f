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

/** The HTTP status of those that are not 403. */
const STATUS: Partial<Record<LoginFailureCode, 400 | 502>> = {
  invalid_domain_prefix: 400,
  invalid_callback: 400,
  authorization_failed: 502,
};

/** Ends a login with a reason. Of a query its message repeats an error's name, and a decline's description at most. */
export class LoginFailure extends Error {
  /** Which of the reasons. */
  readonly code: LoginFailureCode;
  /** The HTTP status to answer with. */
  readonly status: number;

  /** For `authorization_failed`: the service's error, or `server_error` if that is no name. */
  readonly answer?: { readonly error: string };

  /** @param cause core's error, if one says more. */
  constructor(code: LoginFailureCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "LoginFailure";
    this.code = code;
    this.status = STATUS[code] ?? 403;
  }
}
