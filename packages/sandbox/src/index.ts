/**
 * The retail point-of-sale service to run offline. Numbers in comments, such as "4.2", "R4" and "section 8", are
 * headings of docs/service.md.
 */

export type { Controls, LiveTokens } from "./controls.js";
export type { SandboxOptions } from "./options.js";
export { type Application, type Sandbox, startSandbox } from "./sandbox.js";
export type { NamedStore } from "./stores/demo-retailers.js";
export type { Rotation } from "./tokens/issued-tokens.js";
export type { Fault, FaultKind, FaultOptions } from "./traffic/faults.js";
export type { RateLimit } from "./traffic/rate-limiter.js";
export type { LoggedRequest } from "./traffic/request-log.js";
export { type VirtualClock, virtualClock } from "./virtual-clock.js";
export type { Visitor } from "./visitor.js";
