import { type Advice, type Finding, ok, problem, warning } from "../findings/finding.js";

const CHECK = "state";
/** 4.1. */
const MIN_LENGTH = 8;
/** 96 bits in base64url: what is shorter can hardly be as random as RFC 6749, 10.10 asks. */
const COMFORTABLE_LENGTH = 16;

const REFUSED: Advice = {
  effect: "The retailer sees the service's error page instead of its consent page.",
  mend: "Let the strategy make the state: it is always on, random, and kept in the session.",
};
const FORGEABLE: Advice = {
  effect: "The retailer sees nothing, and another site can log the retailer's browser in as somebody else.",
  mend: "Make a new random state for every login, or let the strategy do it.",
};

/**
 * The states of two logins by two people who were never here before (R2). `second`: undefined if that login got
 * nowhere. `isOneSession`: both are of one person, who is logged in.
 */
export function state(
  first: string | null,
  second: string | null | undefined,
  isOneSession = false,
): Finding[] {
  if (!first) return [problem(CHECK, "The authorization request has no state.", REFUSED)];
  const length = [...first].length;
  if (length < MIN_LENGTH) {
    return [
      problem(CHECK, `The state has ${length} characters; the service asks for ${MIN_LENGTH}.`, REFUSED),
    ];
  }
  if (second === undefined) {
    return [
      problem(CHECK, "A second login, begun right after the first, did not get to the consent page.", {
        effect: "The retailer gets to the service at one time and not at another.",
        mend: "Open the login route twice in a private window, and read the application's log.",
      }),
    ];
  }
  if (first === second && isOneSession)
    return [warning(CHECK, "Two logins of one session were sent the same state.", FORGEABLE)];
  if (first === second) return [problem(CHECK, "Two logins were sent the same state.", FORGEABLE)];
  if (/^\d+$/.test(first)) {
    return [
      warning(CHECK, "The state is a number, perhaps a clock or a counter, which can be guessed.", FORGEABLE),
    ];
  }
  if (length < COMFORTABLE_LENGTH) {
    return [warning(CHECK, `The state has only ${length} characters, which is little to guess.`, FORGEABLE)];
  }
  return [ok(CHECK, `The state is new for every login and has ${length} characters.`)];
}
