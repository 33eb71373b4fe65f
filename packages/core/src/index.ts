// Login and tokens

// The words of the wire
export { type DomainPrefix, parseDomainPrefix } from "./domain-prefix.js";
// What goes wrong, and what happens
export {
  ClientRefusedError,
  InvalidDomainPrefixError,
  isRetailPosError,
  NotConnectedError,
  RateLimitedError,
  ReconnectRequiredError,
  RetailPosError,
  type RetailPosErrorCode,
  type RetailPosErrorDetails,
  StoredTokensError,
  TokenEndpointError,
  TokenResponseError,
} from "./errors.js";
export type { RetailPosEvent } from "./events.js";
export type { Lock } from "./lock.js";
export { memoryLock } from "./memory-lock.js";
export { memoryStore } from "./memory-store.js";
export type { RetailPosOptions } from "./options.js";
export { type PersonalTokenOptions, personalToken } from "./personal-token.js";
export { parseRateLimit, type RateLimit } from "./rate-limit.js";
// For those who write a middleware for another framework
export {
  type BearerOptions,
  type RequestBearer,
  type RequestHeaders,
  type RetailerOf,
  requestBearer,
} from "./request-bearer.js";
export { type RetailPos, retailPos } from "./retail-pos.js";
export type { RetailerClient } from "./retailer-client.js";
export type { ExchangeExtra } from "./token-endpoint.js";
export type { AccessToken, TokenSet } from "./token-set.js";
export type { TokenAsk, TokenSource } from "./token-source.js";
// Where tokens are kept
export type { TokenStore } from "./token-store.js";
