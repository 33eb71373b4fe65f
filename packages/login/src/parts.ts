// The rules of a login, each in one place, for passport-retail-pos. Its bundle holds a copy of them; they are no public
// entry of this package.

export {
  acceptCallback,
  type CallbackStates,
  callbackStates,
  type FoundLogin,
} from "./callback/accept-callback.js";
export { type Callback, hasParameter, type Query, queryIn } from "./callback/callback-query.js";
export { exchangeCode } from "./callback/exchange-code.js";
export { loginOf, profileOf } from "./callback/finished-login.js";
export { isCallback, isCallbackPath } from "./callback/start-or-callback.js";
export { loginCookies, type Visit } from "./cookies/login-cookie-jar.js";
export { type SealSecret, secretsIn } from "./cookies/sealed-cookie.js";
export { failureLog, sessionLog } from "./failures/failure-log.js";
export { CANNOT_BE_OPENED, OF_ANOTHER_PERSON } from "./failures/failure-words.js";
export { LoginFailure } from "./failures/login-failure.js";
export {
  alreadyUsed,
  loginWith,
  newestThatFit,
  newLogin,
  ONE_COOKIE_HOSTS,
  type PendingLogin,
  pendingLoginsIn,
} from "./pending/pending-logins.js";
export { pendingText } from "./pending/pending-text.js";
export { type SpentStates, spentStates } from "./pending/spent-states.js";
export {
  type HeaderOf,
  isCrossSiteEmbed,
  isPrefetch,
  isUnclicked,
  PREFETCH_RESPONSE,
} from "./unmeant-visit.js";
export { type Application, applicationOf } from "./values/application.js";
export { bytesOf, hashOf } from "./values/bytes.js";
export { checkAppState } from "./values/json-check.js";
