/** The retail point-of-sale service to run offline. Contracts for stores and locks are in `@retail-pos/sandbox/contracts`. */

export type { Controls, LiveTokens } from "./controls.js";
export type { NamedStore } from "./demo-retailers.js";
export type { Fault, FaultKind, FaultOptions } from "./faults.js";
export type { Rotation, SandboxOptions } from "./options.js";
export type { LoggedRequest } from "./request-log.js";
export { type Application, type Sandbox, startSandbox } from "./sandbox.js";
export { type VirtualClock, virtualClock } from "./virtual-clock.js";
