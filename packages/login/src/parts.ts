// The rules of a login, each in one place, for passport-retail-pos. Its bundle holds a copy of them; they are no public
// entry of this package.

export * from "./callback/accept-callback.js";
export * from "./callback/callback-query.js";
export * from "./callback/exchange-code.js";
export * from "./callback/finished-login.js";
export * from "./callback/start-or-callback.js";
export * from "./cookies/login-cookie-jar.js";
export * from "./cookies/sealed-cookie.js";
export * from "./failures/failure-log.js";
export * from "./failures/failure-words.js";
export * from "./failures/login-failure.js";
export * from "./pending/pending-logins.js";
export * from "./pending/spent-states.js";
export * from "./unmeant-visit.js";
export * from "./values/application.js";
export * from "./values/bytes.js";
export * from "./values/json-check.js";
