import { plainWords, withoutSecrets } from "../secrets/errors-without-secrets.js";
import { redact, shows } from "../secrets/redact.js";
import {
  ClientRefusedError,
  TokenEndpointError,
  TokenResponseError,
  UnavailableError,
} from "../vocabulary/errors.js";
import type { HttpAnswer } from "./token-post.js";
import { type Refusal, type TokenRequest, wordsOf } from "./token-requests.js";
import { jsonObject, readTokenResponse, type TokenResponse } from "./token-response.js";

/** The error for an answer that is neither 2xx nor 429 (behaviour 8; RFC 6749, section 5.2). */
export function failureOf(answer: HttpAnswer, grant: TokenRequest, retryAfterAt?: number): Error {
  // Made even if it is not thrown, because it records a refused code.
  const ours = coreErrorFor(answer, grant, retryAfterAt);
  return callersErrorFor(answer, grant) ?? ours;
}

/** The error that `parseErrorResponse` returns or throws. It may repeat the body, and the body what was sent. */
function callersErrorFor(
  { status, body = "" }: HttpAnswer,
  { parseErrorResponse, secrets }: TokenRequest,
): Error | undefined {
  let own: Error | null | undefined;
  try {
    own = parseErrorResponse?.(body, status);
  } catch (error) {
    throw withoutSecrets(error, secrets);
  }
  return own ? (withoutSecrets(own, secrets) as Error) : undefined;
}

function coreErrorFor(
  { status, redirected, body = "" }: HttpAnswer,
  { domainPrefix, secrets, refused, refusedEarly }: TokenRequest,
  retryAfterAt: number | undefined,
): Error {
  const { error: code, error_description: description } = jsonObject(body) ?? {};
  const isClientError = !redirected && status >= 400 && status < 500;
  const details = {
    endpointStatus: status,
    error: HARMLESS_TO_THE_GRANT.has(code) ? String(code) : plainText(code, secrets),
    errorDescription: plainText(description, secrets),
  };
  // Decided on the service's own words; they are cleaned before they are shown.
  if (isClientError && (code === "invalid_grant" || status === 400 || status === 401)) {
    if (code === "invalid_client" || code === "unauthorized_client") {
      return new ClientRefusedError(code, { domainPrefix, ...details });
    }
    if (!refusedEarly && !HARMLESS_TO_THE_GRANT.has(code)) return refused(details);
  }
  if (isClientError && refusedEarly && status !== 408 && !PASSES.has(code)) return refusedEarly(details);
  const what = redirected || (status >= 300 && status < 400) ? "a redirect, which is not followed" : status;
  const said = typeof what === "number" ? wordsOf(details) : what;
  const message = `The token endpoint of retailer "${domainPrefix}" answered ${said}`;
  if (status === 503 && retryAfterAt !== undefined)
    return new UnavailableError(message, { domainPrefix, ...details, retryAt: retryAfterAt });
  return new TokenEndpointError(message, { domainPrefix, ...details });
}

/** OAuth errors after which the code or refresh token may still be valid (RFC 6749, sections 4.1.2.1 and 5.2). */
const HARMLESS_TO_THE_GRANT: ReadonlySet<unknown> = new Set([
  "access_denied",
  "invalid_request",
  "invalid_scope",
  "unsupported_grant_type",
  "unsupported_response_type",
  "server_error",
  "temporarily_unavailable",
]);

/** Those of them that pass by themselves: a request a little later may succeed. */
const PASSES: ReadonlySet<unknown> = new Set(["server_error", "temporarily_unavailable"]);

/**
 * The tokens in a 2xx answer.
 *
 * @param requestedAt when the request was sent, epoch milliseconds.
 * @throws {TokenResponseError} the answer is unusable.
 */
export function usableResponse(
  { status, body }: HttpAnswer,
  { domainPrefix, secrets, refusedEarly }: TokenRequest,
  requestedAt: number,
): TokenResponse {
  const refuse = (problem: string) =>
    new TokenResponseError(
      `The token endpoint of retailer "${domainPrefix}" answered ${status}, but ${problem}`,
      { domainPrefix },
    );
  if (body === undefined) throw refuse("its body is longer than 1 MiB");
  const response = readTokenResponse(body, domainPrefix, requestedAt);
  if (!response) throw refuse("its body is no JSON object");
  if (response.otherRetailer) throw refuse("its domain_prefix names another retailer; nothing of it is used");
  if (!response.access && !response.refreshToken) {
    const { error, errorDescription } = errorIn(body, secrets);
    if (error && refusedEarly && !PASSES.has(error))
      throw refusedEarly({ endpointStatus: status, error, errorDescription });
    const words = [error, errorDescription].filter(Boolean).join(": ");
    throw refuse(`it holds no usable access_token${words && `; it says ${words}`}`);
  }
  return withoutSecretScope(response, secrets);
}

/** Some services answer an error with status 200. */
function errorIn(body: string, secrets: readonly string[]): Pick<Refusal, "error" | "errorDescription"> {
  const { error, error_description, access_token, refresh_token } = jsonObject(body) ?? {};
  const all = [...secrets, ...[access_token, refresh_token].filter((token) => typeof token === "string")];
  return { error: plainText(error, all), errorDescription: plainText(error_description, all) };
}

/** Shorter texts turn up in ordinary words, and no service has secrets that short. */
const SHORTEST_SECRET = 6;

/** Drops a scope that repeats a secret, because the scope is stored unchanged and shown to operators. */
function withoutSecretScope(response: TokenResponse, secrets: readonly string[]): TokenResponse {
  const { scope, ...rest } = response;
  const all = [...secrets, response.access?.value ?? "", response.refreshToken ?? ""];
  const long = all.filter(({ length }) => length >= SHORTEST_SECRET);
  return scope === undefined || redact(scope, long) === scope ? response : rest;
}

/**
 * Makes the service's text safe for a log line: short, printable, without secrets and without words that may be encoded
 * ones. Of a text with escapes in it, which may spell a secret, only plain words stay.
 */
function plainText(value: unknown, secrets: readonly string[]): string | undefined {
  if (typeof value !== "string" || value === "") return undefined;
  // Cleaned first: other blanks may stand for those that a secret has, and more may stand in it.
  const redacted = redact(printable(value), [...secrets, ...secrets.map(printable)]);
  if (shows(unspaced(redacted), secrets.map(unspaced))) return "[hidden]";
  const cleaned = redacted.replace(/[\w+/=-]{16,}/g, (word) => (/\d/.test(word) ? "[hidden]" : word));
  return (/[&%\\]/.test(cleaned) ? plainWords(cleaned) : cleaned).slice(0, 200);
}

/** Without signs that nobody sees (zero-width blanks, soft hyphens). */
function printable(text: string): string {
  return text.replace(/\p{Cf}+/gu, "").replace(/[^\x20-\x7e]+/g, " ");
}

function unspaced(text: string): string {
  return text.replaceAll(" ", "");
}
