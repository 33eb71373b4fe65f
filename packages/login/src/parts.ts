// The rules of a login, each in one place, for passport-retail-pos. Its bundle holds a copy of them; they are no public
// entry of this package.

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
export { trade } from "./callback/exchange-code.js";
export { loginOf, profileOf } from "./callback/finished-login.js";
export { type Cookie, cookiesIn, isOnThisMachine, setCookie } from "./cookies/cookies.js";
export { failureLog } from "./failures/failure-log.js";
export { LoginFailure } from "./failures/login-failure.js";
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
  underWay,
} from "./pending/pending-logins.js";
export { isOpen, type SpentStates, spentStates } from "./pending/spent-states.js";
export { isAhead, isForced, NOT_NOW } from "./unmeant-visit.js";
