/**
 * The retail point-of-sale service to run offline. Numbers in comments, such as "4.2", "R4" and "section 8", are
 * headings of docs/service.md.
 */

export type { Controls, LiveTokens } from "./controls.js";
export type { ApiRateLimit, Rotation, SandboxOptions } from "./options.js";
export { type Application, type Sandbox, startSandbox } from "./sandbox.js";
export type { NamedStore } from "./service/demo-retailers.js";
export type { Fault, FaultKind, FaultOptions } from "./service/faults.js";
export type { LoggedRequest } from "./service/request-log.js";
export { type VirtualClock, virtualClock } from "./virtual-clock.js";
