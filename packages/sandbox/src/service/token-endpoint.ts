import {
  type Answer,
  type Caller,
  type Incoming,
  jsonAnswer,
  mediaTypeOf,
  methodNotAllowed,
  repeatedNames,
} from "../http/http.js";
import { isSameSecret } from "../secrets.js";
import type { Retailer } from "../stores/retailer-accounts.js";
import type { NewTokens } from "../tokens/issued-tokens.js";
import { hasEnded } from "../tokens/token.js";
import type { RateWindow } from "../traffic/rate-limiter.js";
import { type Service, storeChanged } from "./service-state.js";

/** `POST {base_url}/api/1.0/token` (4.2, 4.3). Errors are RFC 6749 5.2. */
export function tokenEndpoint(
  service: Service,
  retailer: Retailer,
  request: Incoming,
  window: RateWindow | undefined,
): Answer {
  // First of all: section 8 limits requests, good or bad.
  if (window?.exceeded) return jsonAnswer(429, { error: "too_many_requests" });
  if (request.method !== "POST") return methodNotAllowed("POST");
  const unreadable = whyUnreadable(request);
  if (unreadable) return unreadable;

  const form = new URLSearchParams(request.body);
  const [repeated] = repeatedNames(form);
  if (repeated !== undefined) return refusal("invalid_request", `${repeated} was sent more than once.`);
  // Before the grant is read: nobody but the application learns anything about codes and refresh tokens.
  const unknownClient = whyNotTheClient(service, request, form);
  if (unknownClient) return unknownClient;

  const grantType = form.get("grant_type");
  if (!grantType) return refusal("invalid_request", "grant_type is missing.");
  if (grantType === "authorization_code") return exchange(service, retailer, form, request.from);
  if (grantType === "refresh_token") return refresh(service, retailer, form, request.from);
  return refusal("unsupported_grant_type", "grant_type must be authorization_code or refresh_token.");
}

/** The grant type of a token request, for the log. */
export function grantTypeOf(body: string): "authorization_code" | "refresh_token" | "unsupported" {
  const grantType = new URLSearchParams(body).get("grant_type");
  return grantType === "authorization_code" || grantType === "refresh_token" ? grantType : "unsupported";
}

function exchange(service: Service, { domainPrefix }: Retailer, form: URLSearchParams, by: Caller): Answer {
  const code = form.get("code");
  const redirectUri = form.get("redirect_uri");
  if (!code) return refusal("invalid_request", "code is missing.");
  if (!redirectUri) return refusal("invalid_request", "redirect_uri is missing.");

  const found = service.codes.redeemable(code, domainPrefix, redirectUri);
  if ("refused" in found) {
    // RFC 6749 4.1.2: a code that is used twice may have been stolen, so the tokens of its first use end.
    service.tokens.end(domainPrefix, "revoked", ({ login }) => login === found.replayOf, by);
    storeChanged(service, domainPrefix);
    return refusal("invalid_grant", found.refused);
  }
  const tokens = service.tokens.logIn(domainPrefix, found.scopes, by);
  found.spentOn = tokens.login;
  return issued(service, domainPrefix, tokens);
}

function refresh(service: Service, { domainPrefix }: Retailer, form: URLSearchParams, by: Caller): Answer {
  const refreshToken = form.get("refresh_token");
  if (!refreshToken) return refusal("invalid_request", "refresh_token is missing.");
  const access = service.tokens.find(domainPrefix, "refresh", refreshToken)?.login.access;
  if (service.settings.refusesEarly && access && !hasEnded(access, service.now()))
    return refusal(
      "invalid_grant",
      "The access token is still valid: this service renews no token before its end.",
    );
  const tokens = service.tokens.renew(domainPrefix, refreshToken, by);
  if (!tokens) {
    storeChanged(service, domainPrefix);
    return refusal("invalid_grant", "This refresh token is unknown at this store, spent, or refused.");
  }
  return issued(service, domainPrefix, tokens);
}

/** The token response (2.2); instants turn into seconds here. */
function issued(service: Service, domainPrefix: string, tokens: NewTokens): Answer {
  storeChanged(service, domainPrefix);
  const { accessToken, expiresAt, refreshToken, login } = tokens;
  return jsonAnswer(
    200,
    {
      access_token: accessToken,
      token_type: "Bearer",
      // Rounded down, both: a client that counts on them is never late.
      expires: Math.floor(expiresAt / 1000),
      expires_in: Math.floor((expiresAt - service.now()) / 1000),
      ...(refreshToken === undefined ? {} : { refresh_token: refreshToken }),
      domain_prefix: domainPrefix,
      ...(login.scopes.length === 0 ? {} : { scope: login.scopes.join(" ") }),
    },
    { Pragma: "no-cache" },
  );
}

function whyUnreadable(request: Incoming): Answer | undefined {
  if (request.search !== "")
    return refusal("invalid_request", "Parameters belong in the body, not in the query.");
  if (mediaTypeOf(request) !== "application/x-www-form-urlencoded") {
    return refusal("invalid_request", "The body must be application/x-www-form-urlencoded.", 415);
  }
  if (request.bodyTooLong) return refusal("invalid_request", "The body is too long.", 413);
  return undefined;
}

/** The application names itself in the body (4.2); the header that OAuth also knows is not part of this service. */
function whyNotTheClient(
  { settings }: Service,
  request: Incoming,
  form: URLSearchParams,
): Answer | undefined {
  const clientId = form.get("client_id");
  const clientSecret = form.get("client_secret");
  const { authorization } = request.headers;
  if (authorization !== undefined && clientSecret) {
    return refusal("invalid_request", "Only one way to authenticate may be used, and here it is the body.");
  }
  if (clientId && clientSecret) {
    // Both are always compared, so that the time taken does not show which one was wrong.
    const rightId = isSameSecret(clientId, settings.clientId);
    const rightSecret = isSameSecret(clientSecret, settings.clientSecret);
    if (rightId && rightSecret) return undefined;
    return refusal("invalid_client", "client_id or client_secret is wrong.", 401);
  }
  const answer = refusal("invalid_client", "client_id and client_secret are required, in the body.", 401);
  // RFC 6749 5.2: a client that used the header is told which scheme it should have used.
  if (authorization === undefined) return answer;
  return { ...answer, headers: { ...answer.headers, "WWW-Authenticate": 'Basic realm="retail-pos"' } };
}

function refusal(error: string, description: string, status = 400): Answer {
  return jsonAnswer(status, { error, error_description: description }, { Pragma: "no-cache" });
}
