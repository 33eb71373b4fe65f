export {
  type FailureWords,
  failureWords,
  type RetailPosLogin,
  type RetailPosProfile,
  type TokenParams,
} from "@retail-pos/login";
export type { StateMeta, StateStore } from "./custom-state.js";
export type { LoginOptions } from "./handle-request.js";
export type { LoginFailureCode, LoginFailureInfo } from "./login-failure.js";
export type { RetailPosStrategyOptions } from "./options.js";
export { required as "module.exports" } from "./require.js";
export {
  RetailPosStrategy,
  RetailPosStrategy as default,
  RetailPosStrategy as Strategy,
} from "./strategy.js";
export type { VerifyDone, VerifyResult } from "./verify.js";
