import type { Life } from "./process.js";

/** Something that may happen next. */
export interface Step {
  /** The process that it comes from or goes to; absent for what happens in the world. */
  readonly life: Life | undefined;
  /** What happens, for the printed schedule; equal steps of equal states have equal names. */
  readonly name: string;
  /** What could go wrong with it instead. */
  readonly faults: readonly Fault[];
  /** Not before this instant, and only if nothing else can happen: it was delayed. */
  delayedUntil?: number;
  happen(fault?: Fault): void;
}

/** A fault that a step meets. */
export type Fault =
  /** The operation is refused and has no effect. */
  | "fails"
  /** It takes effect, and its answer is an error. */
  | "fails after its effect"
  /** It takes effect, and no answer ever comes. */
  | "is never answered"
  /** It, or its answer, takes longer than anything else that can happen, but not too long. */
  | "is slow"
  /** It takes effect later than anybody waits for it. */
  | "is delayed"
  /** It, or its answer, takes longer than callers wait, and not so long that core gives it up. */
  | "is late"
  /** The service answers 429. */
  | "429"
  /** The service answers 500. */
  | "500"
  /** The service says that nothing remains of its rate limit. */
  | "nothing remains";
