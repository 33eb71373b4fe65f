export type { StateMeta, StateStore } from "./custom-state.js";
export type { LoginOptions } from "./login.js";
export type { LoginFailureCode, LoginFailureInfo } from "./login-failure.js";
export type { RetailPosStrategyOptions } from "./options.js";
export type { RetailPosProfile, TokenParams } from "./profile.js";
export {
  RetailPosStrategy,
  RetailPosStrategy as default,
  RetailPosStrategy as Strategy,
} from "./strategy.js";
export type { RetailPosLogin, VerifyDone, VerifyResult } from "./verify.js";
