import type { StoreHistory, TokenEvent } from "../tokens/token-history.js";
import { hasEnded, type TokenRecord } from "../tokens/token-records.js";

/** One step of a store's story: an event, or the end of an access token's own time, at which nothing happens. */
export interface Step extends Omit<TokenEvent, "id"> {
  readonly ownTime?: true;
}

/** A token as a bar from the step that issued it to the step that ended it. */
export interface Bar {
  readonly token: TokenRecord;
  /** Index of a step; 0 too if it was issued before the first one. */
  readonly from: number;
  /** Absent: it is live. */
  readonly to?: number;
}

/** The bars of one login. No two bars of a lane overlap. */
export interface LoginLanes {
  readonly login: number;
  /** The first is that of the refresh tokens; those of the access tokens follow. */
  readonly lanes: readonly (readonly Bar[])[];
}

export interface Lanes {
  readonly logins: readonly LoginLanes[];
  /** How many tokens there was no room for. */
  readonly leftOut: number;
}

/** Oldest first. */
export function stepsOf({ tokens, events }: StoreHistory, now: number): readonly Step[] {
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

/** All that can be live at once would fill the page: many logins, and without rotation many access tokens. */
const mostLogins = 3;
const mostAccessLanes = 4;

/** The tokens that live during these steps: of the logins to which something happened last, in the order of logins. */
export function lanesOf(tokens: readonly TokenRecord[], steps: readonly Step[], now: number): Lanes {
  const barsOf = new Map<number, Bar[]>();
  for (const token of tokens) {
    const bar = barOf(token, steps, now);
    if (bar) barsOf.set(token.login, [...(barsOf.get(token.login) ?? []), bar]);
  }
  const logins = [...barsOf]
    .sort(([, one], [, other]) => lastStepOf(one, steps) - lastStepOf(other, steps))
    .slice(-mostLogins)
    .map(([login, bars]) => ({
      login,
      lanes: [...inLanes(bars, "refresh"), ...inLanes(bars, "access").slice(-mostAccessLanes)],
    }))
    .sort((one, other) => one.login - other.login);
  const shown = logins.flatMap(({ lanes }) => lanes.flat());
  return { logins, leftOut: [...barsOf.values()].flat().length - shown.length };
}

/** The last of the steps at which something happened to one of these tokens. */
function lastStepOf(bars: readonly Bar[], steps: readonly Step[]): number {
  const names = bars.map(({ token }) => token.name);
  return steps.findLastIndex(({ issued, ended, sent }) =>
    [...issued, ...ended, sent?.name ?? ""].some((name) => names.includes(name)),
  );
}

/** Somebody sent a refresh token that another one had replaced: this is how a store is lost. */
export function isSpentTokenSent({ type, sent }: Step): boolean {
  return type === "refused" && sent?.replacedBy !== undefined;
}

/** The latest time a spent refresh token was sent, unless somebody has received new tokens since. */
export function openAlarm({ events }: StoreHistory): TokenEvent | undefined {
  const last = [...events].reverse().find((event) => isSpentTokenSent(event) || isReceived(event));
  return last && isSpentTokenSent(last) ? last : undefined;
}

const isReceived = ({ issued, answerLost }: Step) => issued.length > 0 && !answerLost;

function endOfTime({ name, end, expiresAt }: TokenRecord, now: number): Step[] {
  if (end !== undefined || expiresAt === undefined || now < expiresAt) return [];
  return [{ type: "expired", at: expiresAt, issued: [], ended: [name], ownTime: true }];
}

function barOf(token: TokenRecord, steps: readonly Step[], now: number): Bar | undefined {
  const from = steps.findIndex(({ issued }) => issued.includes(token.name));
  const to = steps.findIndex(({ ended }) => ended.includes(token.name));
  // Over before the first of these steps, or with it.
  if (hasEnded(token, now) && to <= Math.max(from, 0)) return undefined;
  return { token, from: Math.max(from, 0), ...(to === -1 ? {} : { to }) };
}

/** Each bar goes into the first lane that is free. */
function inLanes(bars: readonly Bar[], kind: TokenRecord["kind"]): Bar[][] {
  const lanes: Bar[][] = [];
  for (const bar of bars.filter(({ token }) => token.kind === kind)) {
    const free = lanes.find((lane) => lane.every(({ to }) => to !== undefined && to <= bar.from));
    if (free) free.push(bar);
    else lanes.push([bar]);
  }
  return lanes;
}
