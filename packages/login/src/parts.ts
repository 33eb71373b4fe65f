// The rules of a login, each in one place, for passport-retail-pos. Its bundle holds a copy of them; they are no public
// entry of this package.

export {
  acceptCallback,
  type CallbackStates,
  callbackStates,
} from "./callback/accept-callback.js";
export { type Callback, hasParameter, type Query, queryIn } from "./callback/callback-query.js";
export { exchangeCode } from "./callback/exchange-code.js";
export { loginOf, profileOf } from "./callback/finished-login.js";
export { isCallback, isCallbackPath } from "./callback/start-or-callback.js";
export { type LoginCookiesOptions, loginCookies, type Visit } from "./cookies/login-cookie-jar.js";
export { type SealSecret, secretsIn } from "./cookies/sealed-cookie.js";
export { failureLog, sessionLog } from "./failures/failure-log.js";
export { OF_ANOTHER_PERSON } from "./failures/failure-words.js";
export { LoginFailure } from "./failures/login-failure.js";
export {
  alreadyUsed,
  type FoundLogin,
  loginWith,
  newestThatFit,
  newLogin,
  type PendingLogin,
  pendingLoginsIn,
} from "./pending/pending-logins.js";
export { type SpentStates, spentStates } from "./pending/spent-states.js";
export {
  type HeaderOf,
  isCrossSiteEmbed,
  isPrefetch,
  isUnclicked,
  PREFETCH_RESPONSE,
} from "./unmeant-visit.js";
export { type Application, applicationOf } from "./values/application.js";
export { hashOf } from "./values/bytes.js";
export { checkAppState } from "./values/json-check.js";
