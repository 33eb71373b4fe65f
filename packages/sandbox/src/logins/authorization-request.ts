import { repeatedNames } from "../http/http.js";
import { isSameSecret } from "../secrets.js";
import { readScopes, type ScopeRefusal } from "../stores/scopes.js";

/** An authorization request (4.1) that a retailer may be shown. */
export interface Asked {
  readonly state: string;
  /** Empty at a service without scopes. */
  readonly scopes: readonly string[];
}

/**
 * An authorization request; or what is wrong with it, in words for the developer who sent it; or an error for the
 * application, to be sent to its callback with the `state`.
 */
export type AuthorizationRequest =
  | Asked
  | { readonly problem: string }
  | { readonly refused: ScopeRefusal; readonly state: string };

const required = ["response_type", "client_id", "redirect_uri", "state"];
const minStateLength = 8;

/** Names it does not know are ignored (RFC 6749 3.1); `scope` too, at a service without scopes. */
export function readAuthorizationRequest(
  query: URLSearchParams,
  application: { clientId: string; redirectUri: string; scopes: readonly string[] },
): AuthorizationRequest {
  const [repeated] = repeatedNames(query);
  if (repeated !== undefined) return { problem: `The parameter ${repeated} was sent more than once.` };
  const missing = required.filter((name) => !query.get(name));
  if (missing.length > 0) return { problem: `Missing from the request: ${missing.join(", ")}.` };

  const { response_type, client_id, redirect_uri, state = "" } = Object.fromEntries(query);
  if (!isSameSecret(client_id ?? "", application.clientId)) {
    return { problem: "No application is registered under this client_id." };
  }
  if (redirect_uri !== application.redirectUri) {
    return {
      problem: `redirect_uri must be exactly the registered ${application.redirectUri}, with no extra parameters; this request has ${redirect_uri}`,
    };
  }
  if (response_type !== "code")
    return { problem: 'response_type must be "code": no other grant is supported.' };
  if ([...state].length < minStateLength) {
    return {
      problem: `state must have at least ${minStateLength} characters, and nobody should be able to guess it.`,
    };
  }
  const scopes = readScopes(query.get("scope"), application.scopes);
  return "error" in scopes ? { refused: scopes, state } : { state, scopes };
}
