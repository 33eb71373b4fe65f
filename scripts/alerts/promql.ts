import type { Metric } from "../../packages/opentelemetry/src/metric-definitions.js";
import type { AlertRule, Counted } from "./alerts.js";

/**
 * Matches a metric under the names that it gets on its way to Prometheus: the collector adds the unit, the exporter of
 * OpenTelemetry's JavaScript does not.
 */
export function selector(
  { name, kind, unit }: Metric,
  matchers: readonly string[] = [],
  suffix = "",
): string {
  const plain = name.replaceAll(".", "_");
  const rest = kind === "counter" ? "_total" : suffix;
  const all = unit === "s" ? [`__name__=~"${plain}(_seconds)?${rest}"`, ...matchers] : matchers;
  const labels = all.length === 0 ? "" : `{${all.join(", ")}}`;
  return unit === "s" ? labels : `${plain}${rest}${labels}`;
}

/** The part of a rule that says how much. */
export function ratioOf(rule: AlertRule, more: readonly string[] = []): string {
  switch (rule.kind) {
    case "ratio":
      return `${sumOf(rule.part, rule.windowMinutes, more)}\n/ ${sumOf(rule.whole, rule.windowMinutes, more)}`;
    case "fleet":
      return `max by (job) (${selector(rule.part, more)})\n/ max by (job) (${selector(rule.whole, more)})`;
    case "age":
      return `min by (job) (${selector(rule.metric, more)})`; // of several processes, the one that counts
  }
}

/** A rule as Prometheus evaluates it. */
export function expressionOf(rule: AlertRule): string {
  if (rule.kind === "age") return `${ratioOf(rule)} > ${rule.moreThanMinutes * 60}`;
  const part =
    rule.kind === "ratio" ? sumOf(rule.part, rule.windowMinutes) : `max by (job) (${selector(rule.part)})`;
  return `${ratioOf(rule)} > ${rule.moreThan}\nand ${part} >= ${rule.atLeast}`;
}

/** Of all processes of one application. */
function sumOf(counted: readonly Counted[], minutes: number, more: readonly string[] = []): string {
  const sums = counted.map((each) => {
    const series = selector(each.metric, [...matchersOf(each), ...more]);
    return `sum by (job) (increase(${series}[${minutes}m]))`;
  });
  return sums.length === 1 ? sums.join() : `(${sums.join(" + ")})`;
}

function matchersOf({ hadEnded, ...counted }: Counted): string[] {
  return [...errorMatchersOf(counted), ...(hadEnded ? ['retail_pos_served_held_token="false"'] : [])];
}

function errorMatchersOf({ errors, butErrors }: Counted): string[] {
  if (errors)
    return [errors.length > 1 ? `error_type=~"${errors.join("|")}"` : `error_type="${errors.join()}"`];
  if (!butErrors) return [];
  return [
    butErrors.length > 1 ? `error_type!~"${butErrors.join("|")}"` : `error_type!="${butErrors.join()}"`,
  ];
}
