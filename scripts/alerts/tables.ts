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

/** Markdown: every alert rule; what each means is in its runbook. @param runbooks the way there from the document. */
export function alertsTable(runbooks: string): string {
  const rows = ALERTS.map((rule) => {
    const link = `[${rule.name}](${runbooks}#${rule.name.toLowerCase()})`;
    const lasting = rule.forMinutes === 0 ? "" : minutes(rule.forMinutes);
    return `| ${[link, rule.severity, ...conditionOf(rule), lasting].join(" | ")} |`;
  });
  const head = "| alert | severity | what it looks at | at least | and more than | for |";
  return [head, "|---|---|---|---|---|---|", ...rows].join("\n");
}

/** What is looked at, how many there have to be at least, and the share that is well. */
function conditionOf(rule: AlertRule): readonly [string, string, string] {
  if (rule.kind === "age") return [`age of ${rule.words}`, "", minutes(rule.moreThanMinutes)];
  const [part, whole] = rule.words;
  const window = rule.kind === "ratio" ? `, in ${minutes(rule.windowMinutes)}` : "";
  const share = rule.moreThan === 0 ? "" : `${rule.moreThan * 100} % of ${whole}`;
  return [part + window, String(rule.atLeast), share];
}

function minutes(count: number): string {
  if (count === 60) return "an hour";
  return count % 60 === 0 ? `${count / 60} hours` : `${count} minutes`;
}
