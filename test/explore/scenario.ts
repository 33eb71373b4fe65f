import type { Action } from "./actions.js";
import type { Fault } from "./step.js";

/** A fault of the world, and not of one operation. */
export type WorldFault = "kill" | "cut off" | "clock" | "pause" | "lease";

/** What a run begins with, who does what in it, and what may go wrong. */
export interface Scenario {
  readonly name: string;
  readonly processes: number;
  readonly retailers: readonly string[];
  readonly lock: "plain" | "lease";
  readonly cacheMs: number;
  /** Whether the service replaces the refresh token at every refresh (R4). */
  readonly rotates: boolean;
  /** Whether the service refuses a refresh while the access token is valid. */
  readonly refusesEarly: boolean;
  /** How long an access token lives. */
  readonly lifetimeMs: number;
  /** How old the login is when the processes first look at it, and how much later the run begins. */
  readonly age: { readonly beforeMs: number; readonly afterMs: number };
  /** Whether every process has a copy from then. */
  readonly isWarm: boolean;
  /** How far each process's clock is off. */
  readonly skewsMs: readonly number[];
  /** Each does one thing after the other. */
  readonly actors: readonly (readonly Action[])[];
  readonly faults: ReadonlySet<Fault | WorldFault>;
  /** How often a schedule leaves the straight way, and how much goes wrong in it. */
  readonly bounds: { readonly preemptions: number; readonly faults: number };
}
