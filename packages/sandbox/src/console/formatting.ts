import { type Html, html } from "../http/html.js";
import type { Service } from "../service/service-state.js";
import type { FaultKind } from "../traffic/faults.js";

/** The time that is left. The browser script counts on from `data-until`. */
export function countdown({ now }: Service, untilAt: number, afterwards: string, fromAt?: number): Html {
  const left = untilAt - now();
  const bar =
    fromAt !== undefined &&
    html`<progress max="${untilAt - fromAt}" value="${Math.max(0, left)}" aria-hidden="true"></progress>`;
  const words = left > 0 ? clockWords(left) : afterwards;
  return html`<span class="countdown ${left <= 0 && "over"}" data-until="${untilAt}" data-over="${afterwards}"><span>${words}</span>${bar}</span>`;
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

/** Minutes and seconds, with the hours before them if there are any; the browser script counts on in the same form. */
function clockWords(ms: number): string {
  const seconds = Math.ceil(ms / 1000);
  const parts = [Math.floor((seconds % 3600) / 60), seconds % 60].map((part) =>
    String(part).padStart(2, "0"),
  );
  const hours = Math.floor(seconds / 3600);
  return hours > 0 ? `${hours}:${parts.join(":")}` : parts.join(":");
}

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
