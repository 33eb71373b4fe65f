// biome-ignore-all assist/source/organizeImports: a table of contents, in the README's order

// Numbers in comments, such as "4.2", "R4" and "behaviour 9", are headings of docs/service.md. The words of the project
// ("look", "mark", "verdict") are in the glossary of docs/architecture.md.

// Login and tokens
export { type RetailPos, retailPos } from "./retail-pos.js";
export type { RenewDueAsk, RenewDueReport } from "./renew-due.js";
export type { RetailPosOptions } from "./options.js";
export type { AcceptRetailer } from "./retailer-acceptance.js";
export { type Settings, settingsFromEnv } from "./settings-from-env.js";
export type { AuthorizationRequest } from "./authorization-url.js";
export type { ExchangeExtra } from "./token-grants.js";
export type { TokenAsk, TokenSource } from "./token-source.js";
export type { AccessToken, TokenSet } from "./token-set.js";
export type { RetailerClient } from "./retailer-client.js";
export { type RetailerStatus, retailerStatus } from "./retailer-status.js";
export { type PersonalTokenOptions, personalToken } from "./personal-token.js";

// Where tokens are kept
export type { TokenStore } from "./token-store.js";
export type { Lock } from "./lock.js";
export { memoryStore } from "./memory-store.js";
export { memoryLock } from "./memory-lock.js";
export { type Lease, type LeaseLockOptions, leaseLock } from "./lease-lock.js";
export { type StoreTask, storeFailure } from "./store-failure.js";
export { type PageAsk, type StorePages, storePages } from "./store-pages.js";

// For those who write a tool that goes through a store
export { checkStored as checkTokenSet } from "./token-set.js";
export { areOfTwoApplications } from "./token-set-versions.js";
export { inPlainWords } from "./errors-without-secrets.js";

// The words of the wire
export { type DomainPrefix, parseDomainPrefix } from "./domain-prefix.js";
export { parseRateLimit, type RateLimit } from "./rate-limit.js";

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
} from "./errors.js";
export type { RetailPosEvent } from "./events.js";

// For those who write a middleware for another framework
export {
  type BearerOptions,
  type OAuthBearer,
  type PersonalBearer,
  type RequestBearer,
  type RetailerName,
  type RetailerOf,
  requestBearer,
} from "./request-bearer.js";
export type { RequestMessage } from "./set-authorization.js";

// For those who write a package around this one
export { refuseMisspelt } from "./option-names.js";

// For those who write a login for another framework
export { redirectUri as checkedRedirectUri } from "./addresses.js";
