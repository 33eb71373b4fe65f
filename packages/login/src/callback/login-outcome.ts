import { isRetailPosError, type RetailPosErrorCode } from "@retail-pos/core";
import { LoginFailure, type LoginFailureCode } from "../failures/login-failure.js";
import type { RetailPosLogin } from "./finished-login.js";

/** How a callback ended. `pending` is the text to keep for this browser from now on; `undefined` for none. */
export type LoginOutcome = LoginSuccess | LoginRefusal;

/** Somebody logged in. */
export interface LoginSuccess {
  /** Tells it from {@link LoginRefusal}. */
  readonly ok: true;
  /** Who, and with which tokens. */
  readonly login: RetailPosLogin;
  /** The application's own state, as given when the login started. */
  readonly state: unknown;
  /** The text to keep for this browser from now on; `undefined` if it has no other login under way. */
  readonly pending: string | undefined;
}

/** Nobody logged in. */
export interface LoginRefusal extends FailedLogin {
  /** Tells it from {@link LoginSuccess}. */
  readonly ok: false;
  /** The text to keep for this browser from now on; `undefined` if it has no other login under way. */
  readonly pending: string | undefined;
}

/** Why a login failed. */
export interface FailedLogin {
  /** One of the login's reasons, or core's. */
  readonly code: LoginFailureCode | RetailPosErrorCode;
  /** The HTTP status to answer with. */
  readonly status: number;
  /** For the log: what happened, and what to check. Of strangers: an error's name, a decline's description. */
  readonly message: string;
  /** Headers for the answer, `Retry-After` for example. */
  readonly headers: Record<string, string>;
  /** Core's error, if one says more. */
  readonly error?: unknown;
}

/** Why a login ended, by the error that ended it. */
export function failureOf(error: unknown): FailedLogin {
  if (error instanceof LoginFailure) {
    const { code, status, message, cause } = error;
    return { code, status, message, headers: {}, ...(cause !== undefined && { error: cause }) };
  }
  if (isRetailPosError(error)) {
    const { code, status, message, headers } = error;
    return { code, status, message, headers: { ...headers }, error };
  }
  const message = "The login ended in an error that is none of the client's own; it is beside this message";
  return { code: "token_endpoint_failed", status: 502, message, headers: {}, error };
}
