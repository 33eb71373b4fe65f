import { HttpException } from "@nestjs/common";
import type { LoginFailureInfo } from "passport-retail-pos";

/** What Passport says of a login that failed, as what Nest answers with. */
export function loginFailure(error: unknown, info: LoginFailureInfo, status: number): unknown {
  if (isAnswerOfService(error)) {
    const { message } = error;
    return new HttpException({ statusCode: 502, code: "authorization_failed", message }, 502);
  }
  return error ?? new HttpException({ statusCode: status, ...info }, status);
}

/** The service sent an error in place of a code, and not that somebody declined. For Passport that is an exception. */
function isAnswerOfService(error: unknown): error is Error {
  return error instanceof Error && error.name === "AuthorizationError";
}
