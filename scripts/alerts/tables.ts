import {
  COUNTERS,
  GAUGES,
  HISTOGRAMS,
  type Metric,
} from "../../packages/opentelemetry/src/metric-definitions.js";
import { ALERTS, type AlertRule } from "./alerts.js";

/** Markdown: every metric. */
export function metricsTable(): string {
  const rows = [COUNTERS, HISTOGRAMS, GAUGES].flatMap((metrics) => Object.values(metrics).map(rowOf));
  return ["| metric | kind, unit | attributes | what it measures |", "|---|---|---|---|", ...rows].join("\n");
}

function rowOf({ name, kind, unit, attributes, description }: Metric): string {
  const about = attributes.map((attribute) => `\`${attribute}\``).join(", ");
  return `| \`${name}\` | ${kind}, \`${unit}\` | ${about} | ${description} |`;
}

/** Markdown: every alert rule. @param runbooks the way to the runbooks from the document. */
export function alertsTable(runbooks: string): string {
  const rows = ALERTS.map((rule) => {
    const link = `[${rule.name}](${runbooks}#${rule.name.toLowerCase()})`;
    return `| ${link} | ${rule.severity} | ${conditionOf(rule)} | ${rule.means} |`;
  });
  return ["| alert | severity | fires when | what it means |", "|---|---|---|---|", ...rows].join("\n");
}

function conditionOf(rule: AlertRule): string {
  const lasting = rule.forMinutes === 0 ? "" : `; this stays true for ${minutes(rule.forMinutes)}`;
  if (rule.kind === "age") return `${rule.words} is older than ${minutes(rule.moreThanMinutes)}${lasting}`;
  const [part, whole] = rule.words;
  const when = rule.kind === "ratio" ? `the last ${hourOr(rule.windowMinutes)} had` : "there are";
  const share = rule.moreThan === 0 ? "" : `, and these are more than ${rule.moreThan * 100} % of ${whole}`;
  return `${when} ${rule.atLeast} or more ${part}${share}${lasting}`;
}

function minutes(count: number): string {
  if (count === 60) return "an hour";
  return count % 60 === 0 ? `${count / 60} hours` : `${count} minutes`;
}

function hourOr(count: number): string {
  return count === 60 ? "hour" : minutes(count);
}
