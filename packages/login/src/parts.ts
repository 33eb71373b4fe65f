// The entry point `@retail-pos/login/parts`, for those who write a login for a framework with habits of its own, as
// passport-retail-pos does for Passport: the rules of a login, each in one place. Until 1.0 these names may change with
// any minor version.

export {
  ACCESS_DENIED,
  authorizationFailed,
  type Callback,
  declined,
  type ErrorCallback,
  names,
  type Query,
  queryIn,
  readCallback,
} from "./callback/callback-query.js";
export { type Cookie, cookiesIn, isOnThisMachine, setCookie } from "./cookies/cookies.js";
export { trade } from "./callback/exchange-code.js";
export { failureLog, type LogFailures } from "./failures/failure-log.js";
export {
  loginOf,
  profileOf,
  type RetailPosLogin,
  type RetailPosProfile,
  type TokenParams,
} from "./callback/finished-login.js";
export { LoginFailure, type LoginFailureCode } from "./failures/login-failure.js";
export {
  alreadyUsed,
  isInTime,
  LIFETIME_MS,
  loginWith,
  MOST_PENDING,
  newLogin,
  ONE_COOKIE_HOSTS,
  type PendingLogin,
  pendingLoginsIn,
  type StateFound,
  underWay,
} from "./pending/pending-logins.js";
export { type SpentStates, spentStates } from "./pending/spent-states.js";
export { isAhead, isForced, NOT_NOW } from "./unmeant-visit.js";
