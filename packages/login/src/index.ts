// biome-ignore-all assist/source/organizeImports: a table of contents, in the README's order

// Numbers in comments, such as "4.2" and "R4", are headings of docs/service.md.

// Two handlers, on any framework
export {
  type FailureEvent,
  type LoginEvent,
  type VerifyEvent,
  type WebLogin,
  type WebLoginOptions,
  webLogin,
} from "./web-login.js";
export { type FailureWords, failureWords } from "./failures/failure-words.js";
export type { LogFailures } from "./failures/failure-log.js";
export { type NodeHandlerOptions, nodeHandler, type WebHandler } from "./node-handler.js";

// The protocol, for other frameworks
export { type LoginFlow, type LoginFlowOptions, loginFlow } from "./flow.js";
export type { LoginStart } from "./pending/start-login.js";
export type { FailedLogin, LoginOutcome, LoginRefusal, LoginSuccess } from "./callback/login-outcome.js";
export type { LoginFailureCode } from "./failures/login-failure.js";
export type { RetailPosLogin, RetailPosProfile, TokenParams } from "./callback/finished-login.js";
