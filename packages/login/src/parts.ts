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
export { loginCookies, type Visit } from "./cookies/login-cookie-jar.js";
export { type SealSecret, sealOf, secretsIn } from "./cookies/sealed-cookie.js";
export { failureLog } from "./failures/failure-log.js";
export { CANNOT_BE_OPENED, OF_ANOTHER_PERSON } from "./failures/failure-words.js";
export { LoginFailure } from "./failures/login-failure.js";
export {
  alreadyUsed,
  LIFETIME_MS,
  loginWith,
  MOST_PENDING,
  newLogin,
  ONE_COOKIE_HOSTS,
  type PendingLogin,
  pendingLoginsIn,
  underWay,
} from "./pending/pending-logins.js";
export { pendingText } from "./pending/pending-text.js";
export { isOpen, type SpentStates, spentStates } from "./pending/spent-states.js";
export { isAhead, isForced, NOT_NOW } from "./unmeant-visit.js";
export { type Application, applicationOf } from "./values/application.js";
export { checkJson } from "./values/json-check.js";
