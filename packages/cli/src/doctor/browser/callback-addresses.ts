import { randomBytes } from "node:crypto";

/** Whoever reads the application's log sees where it comes from. */
const MADE_UP = "made-up-by-the-doctor";

/** A state that nobody was ever sent, as long as the strategy's own. */
export function forgedState(): string {
  return randomBytes(24).toString("base64url");
}

/** The callback of somebody who approved (2.3), with a code that was never issued. */
export function approvedCallback(callback: URL, domainPrefix: string, state: string): URL {
  return withQuery(callback, { code: MADE_UP, domain_prefix: domainPrefix, state });
}

/** The callback of somebody who declined (2.3). */
export function declinedCallback(callback: URL): URL {
  return withQuery(callback, { error: "access_denied" });
}

/**
 * A callback with an error that is no decline (RFC 6749, 4.1.2.1). The strategy and `@retail-pos/login` check its
 * state, spend no login and send no token request, so it shows whether a state is known and costs nothing.
 */
export function failedCallback(callback: URL, state: string): URL {
  return withQuery(callback, { error: "server_error", error_description: MADE_UP, state });
}

/** A callback that no service sends. The strategy and `@retail-pos/login` answer 400 before they look at the state. */
export function malformedCallback(callback: URL, domainPrefix: string): URL {
  const url = approvedCallback(callback, domainPrefix, forgedState());
  url.searchParams.append("code", `${MADE_UP}-again`);
  return url;
}

function withQuery(callback: URL, parameters: Record<string, string>): URL {
  const url = new URL(callback);
  for (const [name, value] of Object.entries(parameters)) url.searchParams.append(name, value);
  return url;
}
