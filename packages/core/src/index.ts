// biome-ignore-all assist/source/organizeImports: a table of contents, in the README's order

// Numbers in comments, such as "4.2", "R4" and "behaviour 9", are headings of docs/service.md. The project's own words
// are in the glossary of docs/architecture.md.

// Login and tokens
export { type RetailPos, type RetailPosApplication, retailPos } from "./retail-pos.js";
export type { RenewDueAsk, RenewDueReport } from "./fleet/renew-due.js";
export type { RetailPosOptions } from "./settings/options.js";
export type { AcceptRetailer } from "./settings/options.js";
export { type Settings, settingsFromEnv } from "./settings/settings-from-env.js";
export type { AuthorizationRequest } from "./login/authorization-url.js";
export type { ExchangeExtra } from "./endpoint/token-requests.js";
export type { TokenAsk, TokenSource } from "./vocabulary/token-source.js";
export type { AccessToken, TokenSet } from "./vocabulary/token-set.js";
export type { RetailerClient } from "./client/retailer-client.js";
export type { RetailerStatus } from "./vocabulary/retailer-status.js";
export { type RetailerState, retailerState } from "./vocabulary/retailer-state.js";
export { type PersonalTokenOptions, personalToken } from "./client/personal-token.js";

// Stores and locks
export type { TokenStore } from "./vocabulary/token-store.js";
export type { Lock } from "./vocabulary/lock.js";
export { memoryStore } from "./store/memory-store.js";
export { memoryLock } from "./store/locks.js";
export { type Lease, type LeaseLockOptions, leaseLock } from "./store/lease-lock.js";

// The words of the wire
export { type DomainPrefix, parseDomainPrefix } from "./vocabulary/domain-prefix.js";
export { parseRateLimit, type RateLimit } from "./vocabulary/rate-limit.js";

// What goes wrong, and what happens
export {
  type AnyRetailPosError,
  ClientRefusedError,
  InvalidDomainPrefixError,
  isRetailPosError,
  NotConnectedError,
  RateLimitedError,
  ReconnectRequiredError,
  RetailerNotAcceptedError,
  RetailPosError,
  type RetailPosErrorCode,
  type RetailPosErrorDetails,
  StoreFailedError,
  type StoreOperation,
  StoredTokensError,
  TokenEndpointError,
  TokenResponseError,
} from "./vocabulary/errors.js";
export type { RetailPosEvent } from "./vocabulary/events.js";

// The bearer of a request, on any framework
export {
  type BearerOptions,
  type OAuthBearer,
  type PersonalBearer,
  type RequestBearer,
  type RetailerName,
  type RetailerOf,
  requestBearer,
} from "./bearer/request-bearer.js";
export type { RequestMessage } from "./bearer/set-authorization.js";
