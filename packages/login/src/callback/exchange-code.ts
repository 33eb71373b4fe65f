import { type ExchangeExtra, isRetailPosError, type RetailPos, type TokenSet } from "@retail-pos/core";
import { LoginFailure } from "../failures/login-failure.js";
import type { Callback } from "./callback-query.js";

/**
 * Trades the code through the client (4.2), so that rate limit, timeout and errors are handled in one place.
 *
 * @throws {LoginFailure} `code_refused` or `retailer_not_accepted`: nothing is wrong with the service.
 * @throws {RetailPosError} everything else.
 */
export async function exchangeCode(
  client: RetailPos,
  { domainPrefix, code }: Callback,
  extra: ExchangeExtra,
): Promise<TokenSet> {
  try {
    return await client.exchange(domainPrefix, code, extra);
  } catch (error) {
    throw failureIn(error) ?? error;
  }
}

/** Failures that a new login may get past, or that the application has decided. */
function failureIn(error: unknown): LoginFailure | undefined {
  if (!isRetailPosError(error)) return undefined;
  const { code, error: oauthError } = error as { code: string; error?: string };
  if (code === "retailer_not_accepted") {
    const message = "This application does not accept logins of this retailer; nothing was sent";
    return new LoginFailure(code, message, error);
  }
  if (code !== "token_endpoint_failed" || oauthError !== "invalid_grant") return undefined;
  return new LoginFailure(
    "code_refused",
    "The service refused the code: it has expired, was used already, or was made for another address. " +
      "Start the login again. If every login ends so, check redirectUri, clientId and clientSecret",
    error,
  );
}
