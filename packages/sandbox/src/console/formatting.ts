import { type Html, html } from "../http/html.js";
import type { FaultKind } from "../traffic/faults.js";

/** The time that is left, filled in by the page's script. */
export function countdown(untilAt: number, afterwards: string, fromAt?: number): Html {
  const bar =
    fromAt !== undefined &&
    html`<progress max="${untilAt - fromAt}" value="0" aria-hidden="true"></progress>`;
  return html`<span class="countdown" data-until="${untilAt}" data-over="${afterwards}"><span></span>${bar}</span>`;
}

/** A length of time in the largest unit that it is a whole number of. */
export function duration(ms: number): string {
  const units = [
    ["h", 3_600_000],
    ["min", 60_000],
    ["s", 1000],
  ] as const;
  const unit = units.find(([, size]) => ms >= size && ms % size === 0);
  return unit ? `${ms / unit[1]} ${unit[0]}` : `${ms} ms`;
}

/** In the time zone of the machine that runs the sandbox, which is the person's own. */
export const timeOfDay = (at: number): string => new Date(at).toLocaleTimeString("en-GB");

/** The time of day, with the day before it unless it is today's. */
export function momentOf(at: number, now: number): string {
  const day = (instant: number) =>
    new Date(instant).toLocaleDateString("en-GB", { day: "numeric", month: "short" });
  return day(at) === day(now) ? timeOfDay(at) : `${day(at)}, ${timeOfDay(at)}`;
}

/** A secret, as far as the sandbox still knows it: its last four characters. */
export const masked = (ending: string): Html => html`<code>••••${ending}</code>`;

export const endpointNames = { token: "Token endpoint", api: "API" };

export function faultWords(kind: FaultKind): string {
  if (typeof kind === "number") return `answers ${kind}`;
  const words = {
    silence: "never answers",
    reset: "resets the connection",
    html: "answers with a page of HTML",
    redirect: "redirects elsewhere",
    half: "breaks off in the middle of an answer",
    late: "holds its answer back",
    "reset-after": "does the work, then resets the connection",
  };
  return words[kind];
}
