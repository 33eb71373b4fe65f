// biome-ignore-all assist/source/organizeImports: a table of contents, by what is written

// The entry point `@retail-pos/core/authoring`: what those need who write a package around core, beside the types of
// `@retail-pos/core`.

// A store
export { retailerStatus } from "./vocabulary/retailer-status.js";
export { type StoreTask, storeFailure } from "./store/store-failure.js";
export { type PageAsk, type StorePages, storePages } from "./store/store-pages.js";
export {
  COLUMNS,
  columnOf,
  FIELDS,
  type FlatRecord,
  flatRecord,
  setInFlatRecord,
  statusInFlatRecord,
} from "./store/flat-record.js";

// A client of an HTTP API
export { copyOfInit } from "./client/call-members.js";
export { discard } from "./platform/fetch.js";
export { parseRetryAfter } from "./vocabulary/rate-limit.js";

// A tool that goes through a store
export { retailersIn } from "./fleet/all-retailers.js";
export { type ForEachAsk, forEachOf } from "./fleet/for-each.js";
export { storeAnswer } from "./store/store-failure.js";
export { checkStored as checkTokenSet } from "./vocabulary/token-set.js";
export {
  areOfTwoApplications,
  sealedVersion,
  versionBeforeSealing,
} from "./vocabulary/token-set-versions.js";
export { inPlainWords } from "./secrets/errors-without-secrets.js";

// Small parts that several packages need
export { base64url } from "./platform/base64url.js";
export { BoundedMap } from "./platform/bounded-map.js";
export { callSafely } from "./vocabulary/events.js";

// Options of one's own
export { refuseMisspelt } from "./settings/option-checks.js";
export { isLoopback, redirectUri as checkedRedirectUri } from "./settings/addresses.js";
