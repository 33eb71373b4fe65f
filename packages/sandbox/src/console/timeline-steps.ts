import type { Token } from "../tokens/token.js";
import type { TokenEvent } from "../tokens/token-history.js";

/** One step of a store's story: an event, or the end of an access token's own time, at which nothing happens. */
export interface Step extends Omit<TokenEvent, "id"> {
  readonly ownTime?: true;
}

/** Oldest first. */
export function stepsOf(
  tokens: readonly Token[],
  events: readonly TokenEvent[],
  now: number,
): readonly Step[] {
  const ends = tokens.flatMap((token) => endOfTime(token, now)).sort((one, other) => one.at - other.at);
  const steps: Step[] = [];
  // Events keep their order, even if the clock was turned back between two of them. At the instant of its end a token
  // is no longer accepted, so its end comes before what happened at that instant.
  for (const event of events) {
    while (ends[0] && ends[0].at <= event.at) steps.push(...ends.splice(0, 1));
    steps.push(event);
  }
  return [...steps, ...ends];
}

/** Somebody sent a refresh token that another one had replaced: this is how a store is lost. */
export function isSpentTokenSent({ type, sent }: Step): boolean {
  return type === "refused" && sent?.replacedBy !== undefined;
}

/** The latest time a spent refresh token was sent, unless somebody has received new tokens since. */
export function openAlarm(events: readonly TokenEvent[]): TokenEvent | undefined {
  const last = events.findLast((event) => isSpentTokenSent(event) || isReceived(event));
  return last && isSpentTokenSent(last) ? last : undefined;
}

const isReceived = ({ issued, answerLost }: Step) => issued.length > 0 && !answerLost;

function endOfTime({ name, end, expiresAt }: Token, now: number): Step[] {
  if (end !== undefined || now < expiresAt) return [];
  return [{ type: "expired", at: expiresAt, issued: [], ended: [name], ownTime: true }];
}
