import { redirectUri as checkedRedirectUri } from "../settings/addresses.js";
import { variableOf } from "../settings/option-checks.js";
import type { CheckedOptions } from "../settings/options.js";

/** Settings of one login. */
export interface AuthorizationRequest {
  /** The `redirect_uri` of this login, if it differs from the configured one. */
  redirectUri?: string | undefined;
  /** The scope of this login, if it differs from the configured one (R1). */
  scope?: string | undefined;
}

type LoginOptions = Pick<CheckedOptions, "addresses" | "clientId" | "redirectUri" | "scope">;

/**
 * Makes the address of the consent page, for the retailer's browser (4.1).
 *
 * @throws {TypeError} naming what is wrong: `state`, `scope`, `redirectUri`, or an option that was left out.
 */
export function authorizationUrl(
  options: LoginOptions,
  state: string,
  more: AuthorizationRequest | undefined,
): URL {
  const { connectUrl } = options.addresses;
  const redirectUri = redirectUriOfLogin(options, more?.redirectUri);
  if (connectUrl === undefined) throw missing(["authUrl"]);
  if (typeof state !== "string" || state.length < 8)
    throw new TypeError("state must have at least 8 characters");
  const scope = more?.scope ?? options.scope;
  if (scope !== undefined && (typeof scope !== "string" || scope.trim() === ""))
    throw new TypeError("scope must be a non-empty text");
  const url = new URL(connectUrl);
  url.search = new URLSearchParams({
    response_type: "code",
    client_id: options.clientId,
    redirect_uri: redirectUri,
    state,
    ...(scope !== undefined && { scope }),
  }).toString();
  return url;
}

/**
 * The `redirect_uri` of one login: its own, else the configured one. It has to be the same in 4.1 and 4.2.
 *
 * @throws {TypeError} the login's own is not secure; or the program is not configured for logins.
 */
export function redirectUriOfLogin(
  { addresses, redirectUri }: Pick<CheckedOptions, "addresses" | "redirectUri">,
  own: string | undefined,
): string {
  if (own !== undefined) return checkedRedirectUri("redirectUri", own);
  if (redirectUri !== undefined) return redirectUri;
  throw missing(addresses.connectUrl === undefined ? ["authUrl", "redirectUri"] : ["redirectUri"]);
}

function missing(names: string[]): TypeError {
  const needed = names.length > 1 ? `${names.join(" and ")} are` : `${names[0]} is`;
  const variables = names.map(variableOf).join(" and ");
  return new TypeError(`${needed} needed for a login; none was given (settingsFromEnv() reads ${variables})`);
}
