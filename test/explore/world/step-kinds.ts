import type { Act } from "../actions.js";
import type { Step } from "../step.js";

export function isAct(step: Step): step is Act {
  return "action" in step;
}

/** An operation whose process may die: it takes effect all the same. */
export function isOnItsWay(step: Step): boolean {
  return "isUnderWay" in step && step.isUnderWay === true;
}
