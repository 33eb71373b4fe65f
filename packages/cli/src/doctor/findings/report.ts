import { type Colour, coloured, jsonOf } from "../../terminal/output.js";
import type { Stream } from "../../terminal/world.js";
import type { Finding, Group, Level } from "./finding.js";

const colours: Record<Level, Colour> = { ok: "green", warning: "yellow", problem: "red", skipped: "gray" };
/** Of every line but the titles; the level stands in it. */
const indent = 12;

/** For people. */
export function textReport(address: string, groups: readonly Group[], stdout: Stream): string {
  const columns = Math.min(stdout.columns ?? 100, 100);
  const sections = groups.map(({ title, findings }) =>
    [coloured(stdout, "bold", title), ...findings.flatMap((each) => linesOf(each, stdout, columns))].join(
      "\n",
    ),
  );
  return `\nThe login at ${address}\n\n${sections.join("\n\n")}\n\n${summary(groups, columns)}\n`;
}

/** For machines: one line of JSON for each finding. */
export function jsonReport(groups: readonly Group[]): string {
  const lines = groups.flatMap(({ title, findings }) =>
    findings.map((finding) => `${jsonOf({ group: title, ...finding })}\n`),
  );
  return lines.join("");
}

export function count(groups: readonly Group[], level: Level): number {
  return groups.flatMap(({ findings }) => findings).filter((finding) => finding.level === level).length;
}

/** Nobody approves here, so nothing that comes after an approval is looked at. */
const unseen =
  "What happens after a real approval cannot be seen from outside: whether verify lets the retailer in, whether the tokens can be stored, and whether the retailer stays logged in (passport.session(), serializeUser, deserializeUser, and the session's cookie, which behind a proxy is set only if the application trusts it). If a login fails all the same, the application's log says why.";

function summary(groups: readonly Group[], columns: number): string {
  const [problems, warnings, skipped] = (["problem", "warning", "skipped"] as const).map((level) =>
    count(groups, level),
  );
  const isClean = !problems && !warnings;
  const found = isClean
    ? "Nothing found that would break a login."
    : `Problems: ${problems}. Warnings: ${warnings}.`;
  const sum = skipped ? `${found} Skipped: ${skipped}.` : found;
  return [sum, ...(isClean ? wrapped(unseen, columns) : [])].join("\n");
}

function linesOf({ level, message, effect, mend }: Finding, stdout: Stream, columns: number): string[] {
  const sentences = [message, effect, mend && `Fix: ${mend}`].filter((sentence) => sentence !== undefined);
  const lines = sentences.flatMap((sentence) => wrapped(sentence, columns - indent));
  const label = coloured(stdout, colours[level], level.padEnd(indent - 2));
  return lines.map((line, index) => (index === 0 ? `  ${label}${line}` : " ".repeat(indent) + line));
}

/** Breaks at spaces; an address that is longer than a line stays whole, to be copied. */
function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const line = lines.at(-1);
    if (line !== undefined && line.length + 1 + word.length <= width)
      lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines;
}
