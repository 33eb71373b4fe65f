export {
  type FailureWords,
  failureWords,
  type RetailPosLogin,
  type RetailPosProfile,
  type TokenParams,
} from "@retail-pos/login";
export type { StateMeta, StateStore } from "./hooks/state-store.js";
export type { VerifyDone, VerifyResult } from "./hooks/verify.js";
export type { LoginFailureCode, LoginFailureInfo } from "./login-failure.js";
export type { LoginOptions, RetailPosStrategyOptions } from "./options.js";
export { required as "module.exports" } from "./require.js";
export {
  RetailPosStrategy,
  RetailPosStrategy as default,
  RetailPosStrategy as Strategy,
} from "./strategy.js";
