import { type Html, html } from "../http/html.js";
import type { StoreHistory } from "../tokens/token-history.js";
import { hasEnded } from "../tokens/token-records.js";
import { timeOfDay } from "./formatting.js";
import { type Bar, isSpentTokenSent, type LoginLanes, lanesOf, type Step } from "./timeline-steps.js";

/**
 * The latest steps side by side, and the tokens as bars between them. Each step has the same width: a second and a day
 * are both worth seeing. Places are percentages, so that it fits any width without a script; it is hidden from screen
 * readers, because the list below it says the same.
 */
export function timelineChart(history: StoreHistory, allSteps: readonly Step[], now: number): Html {
  const steps = allSteps.slice(-mostSteps);
  const at = (index: number) => `${placeOf(index, steps).toFixed(2)}%`;
  const { logins, leftOut } = lanesOf(history.tokens, steps, now);
  const { rows, height } = rowsOf(logins);
  const resent = new Set(steps.filter(isSpentTokenSent).map(({ sent }) => sent?.name));
  return html`
<svg class="chart" width="100%" height="${height + axisHeight}" aria-hidden="true" focusable="false">
  ${steps.map((_, index) => line(at(index), height, "step"))}
  ${line(`${nowAt}%`, height, "now")}
  ${rows.map((row) =>
    row.bars
      ? html`${row.bars.map((bar) => drawBar(bar, { at, y: row.y, now, isResent: resent.has(bar.token.name) }))}`
      : html`<text class="login" x="0" y="${row.y + 14}">Login ${row.login}</text>`,
  )}
  ${steps.map((step, index) => html`${isSpentTokenSent(step) && line(at(index), height, "lost")}${mark(step, at(index))}`)}
  ${steps.map((step, index) => html`<text class="tick ${isMinor(index, steps) && "minor"}" x="${at(index)}" y="${height + 16}">${timeOfDay(step.at)}</text>`)}
  <text class="tick" x="${nowAt}%" y="${height + 16}">now</text>
</svg>
${leftOut > 0 && html`<p class="nothing">${leftOut === 1 ? "One more token" : `${leftOut} more tokens`} of this store, for which there is no room here.</p>`}`;
}

/** In percent. */
function placeOf(index: number, steps: readonly Step[]): number {
  return (index / steps.length) * nowAt;
}

/** Whether a phone has no room for the time of this step: only for four, and for "now". */
function isMinor(index: number, steps: readonly Step[]): boolean {
  const isBetween = index % Math.ceil(steps.length / 4) > 0;
  return index > 0 && (isBetween || nowAt - placeOf(index, steps) < 20);
}

/** As many as a phone has room for. */
const mostSteps = 8;
/** Where "now" is, in percent. What lies behind it has not happened yet. */
const nowAt = 88;

/** In pixels, from the top. */
const marksHeight = 30;
const laneHeight = 28;
const barHeight = 22;
const nameHeight = 20;
const axisHeight = 24;

interface Row {
  readonly y: number;
  readonly login: number;
  /** Absent: the row is the login's name. */
  readonly bars?: readonly Bar[];
}

function rowsOf(logins: readonly LoginLanes[]): { rows: Row[]; height: number } {
  const rows: Row[] = [];
  let y = marksHeight;
  for (const { login, lanes } of logins) {
    if (logins.length > 1) {
      rows.push({ y, login });
      y += nameHeight;
    }
    for (const bars of lanes) {
      rows.push({ y, login, bars });
      y += laneHeight;
    }
  }
  return { rows, height: y };
}

interface Place {
  readonly at: (index: number) => string;
  readonly y: number;
  readonly now: number;
  /** It was sent again after another one had replaced it. */
  readonly isResent: boolean;
}

function drawBar({ token, from, to }: Bar, { at, y, now, isResent }: Place): Html {
  const isLive = !hasEnded(token, now);
  const start = at(from);
  const end = to === undefined ? `${nowAt}%` : at(to);
  const width = (Number.parseFloat(end) - Number.parseFloat(start)).toFixed(2);
  const className = `bar ${token.kind} ${isLive ? "is-live" : "is-over"} ${isResent ? "is-resent" : ""}`;
  const bar = html`<svg class="${className}" x="${start}" y="${y}" width="${width}%" height="${barHeight}"><title>${titleOf(token)}</title><rect width="100%" height="100%" rx="4"/><text x="5" y="15">${token.name}</text></svg>`;
  if (!isLive) return bar;
  return html`${bar}<svg class="${className} ahead" x="${nowAt}%" y="${y}" width="${100 - nowAt}%" height="${barHeight}"><rect width="100%" height="100%" rx="4"/></svg>`;
}

function titleOf({ name, kind, replacedBy, end }: Bar["token"]): string {
  const what = `${name}, ${kind === "access" ? "an access token" : "a refresh token"}`;
  if (replacedBy !== undefined) return `${what}, replaced by ${replacedBy}`;
  return end === undefined
    ? what
    : `${what}, ${{ renewed: "ended by a renewal", expired: "expired", stopped: "refused", revoked: "revoked" }[end]}`;
}

function line(x: string, height: number, className: string): Html {
  return html`<line class="${className}" x1="${x}" x2="${x}" y1="${marksHeight / 2}" y2="${height}"/>`;
}

/** What happened, as a sign. */
function mark(step: Step, x: string): Html {
  const { type } = step;
  const className = isSpentTokenSent(step) ? "lost" : type;
  return html`<svg class="mark-${className}" x="${x}" y="${marksHeight / 2 - 2}"><circle r="${isSpentTokenSent(step) ? 11 : 8}"/><path d="${signs[type]}"/></svg>`;
}

const cross = "M-3-3L3 3M3-3L-3 3";

const signs: Record<Step["type"], string> = {
  login: "M-3.5 0H3M.5-2.5L3 0L.5 2.5",
  renewed: "M2.9-2A3.5 3.5 0 1 0 3.5.5M3.4-4.2V-1.6H.8",
  refused: cross,
  rejected: "M0-3.5V.5M0 3V3.2",
  expired: "M0-3.5V0H2.5",
  stopped: "M-3.5 0H3.5",
  revoked: cross,
};
