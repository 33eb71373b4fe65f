import { isRetailPosError, type RetailPosErrorCode } from "@retail-pos/core";

/** The values of the attribute `error.type`: a closed list. `_OTHER` is OpenTelemetry's word for any other error. */
export type ErrorType = RetailPosErrorCode | "code_refused" | "_OTHER";

/** A code that the service refused says nothing about the endpoint's health, so it has a word of its own. */
export function errorType(error: unknown): ErrorType {
  if (!isRetailPosError(error)) return "_OTHER";
  const isCodeRefused = error.code === "token_endpoint_failed" && error.status === 403;
  return isCodeRefused ? "code_refused" : error.code;
}
