import {
  COUNTERS,
  GAUGES,
  HISTOGRAMS,
  type Metric,
} from "../../packages/opentelemetry/src/metric-definitions.js";
import { ALERTS, type AlertRule } from "./alerts.js";
import { ratioOf, selector } from "./promql.js";

const JOB = 'job=~"$job"';
const SOURCE = { type: "prometheus", uid: "$datasource" };
const WIDTH = 24;

/** One panel, before it has a place. */
interface Panel {
  readonly type: "stat" | "timeseries" | "row";
  readonly title: string;
  readonly description?: string;
  readonly width: number;
  readonly height: number;
  readonly unit?: string;
  /** Drawn as a line. */
  readonly threshold?: number;
  readonly queries?: readonly { readonly expr: string; readonly legend: string }[];
}

/** A dashboard for Grafana, as a file to import. */
export function dashboardFile(): string {
  const dashboard = {
    title: "retail-pos",
    uid: "retail-pos",
    description: "Made by `pnpm alerts` from the tables of @retail-pos/opentelemetry.",
    tags: ["retail-pos"],
    schemaVersion: 39,
    version: 1,
    editable: true,
    time: { from: "now-6h", to: "now" },
    refresh: "1m",
    templating: { list: [sourceVariable(), jobVariable()] },
    panels: placed([
      row("The fleet"),
      ...Object.values(GAUGES).map(stat),
      row("What happens to tokens"),
      ...Object.values(COUNTERS).map(rates),
      ...Object.values(HISTOGRAMS).map(quantiles),
      row("Alert rules: the value, and from where on it is too much"),
      ...ALERTS.map(alertPanel),
    ]),
  };
  return `${JSON.stringify(dashboard, null, 2)}\n`;
}

function row(title: string): Panel {
  return { type: "row", title, width: WIDTH, height: 1 };
}

/** Only one process counts; of another that has stopped, the last value may still be there. */
function stat(metric: Metric): Panel {
  const { description, name } = metric;
  const title = titleOf(name.replace("retail_pos.retailers.", ""));
  const isAge = metric.unit === "s";
  const expr = `${isAge ? "min" : "max"} by (job) (${selector(metric, [JOB])})`;
  const queries = [{ expr, legend: "{{job}}" }];
  return { type: "stat", title, description, width: 4, height: 4, unit: isAge ? "s" : "short", queries };
}

/** Zero is worth a line: nothing failed. */
function rates(metric: Metric): Panel {
  const { name, description, attributes } = metric;
  const labels = attributes.map((attribute) => attribute.replaceAll(".", "_"));
  const by = labels.length === 0 ? "" : ` by (${labels.join(", ")})`;
  const sum = `sum${by} (rate(${selector(metric, [JOB])}[$__rate_interval]))`;
  // What succeeded has no error, and a line without a name would say nothing.
  const expr = labels.includes("error_type")
    ? `label_replace(${sum}, "error_type", "succeeded", "error_type", "")`
    : sum;
  const legend = labels.map((label) => `{{${label}}}`).join(" ") || titleOf(name.replace("retail_pos.", ""));
  const title = titleOf(name.replace("retail_pos.", ""));
  return {
    ...{ type: "timeseries", title, description, width: 8, height: 8, unit: "cps" },
    queries: [{ expr, legend }],
  };
}

function quantiles(metric: Metric): Panel {
  const { name, description } = metric;
  const buckets = `sum by (le) (rate(${selector(metric, [JOB], "_bucket")}[$__rate_interval]))`;
  const queries = [0.5, 0.95, 0.99].map((quantile) => ({
    expr: `histogram_quantile(${quantile}, ${buckets})`,
    legend: `${quantile * 100} %`,
  }));
  const title = titleOf(name.replace("retail_pos.", ""));
  return { type: "timeseries", title, description, width: 8, height: 8, unit: "s", queries };
}

function alertPanel(rule: AlertRule): Panel {
  const isAge = rule.kind === "age";
  return {
    ...{ type: "timeseries", title: rule.name, description: rule.means, width: 8, height: 8 },
    unit: isAge ? "s" : "percentunit",
    threshold: isAge ? rule.moreThanMinutes * 60 : rule.moreThan,
    queries: [{ expr: ratioOf(rule, [JOB]), legend: "{{job}}" }],
  };
}

/** From left to right, and from the top. */
function placed(panels: readonly Panel[]): object[] {
  let [x, y, lineHeight] = [0, 0, 0];
  return panels.map((panel, index) => {
    const { width, height } = panel;
    if (x + width > WIDTH) {
      [x, y] = [0, y + lineHeight];
      lineHeight = 0;
    }
    const gridPos = { x, y, w: width, h: height };
    x += width;
    lineHeight = Math.max(lineHeight, height);
    return { id: index + 1, ...drawn(panel), gridPos };
  });
}

function drawn({ type, title, description, unit, threshold, queries = [] }: Panel): object {
  if (type === "row") return { type, title, collapsed: false, panels: [] };
  const steps = [
    { color: "green", value: null },
    ...(threshold === undefined ? [] : [{ color: "red", value: threshold }]),
  ];
  const custom = threshold === undefined ? {} : { thresholdsStyle: { mode: "line" } };
  return {
    type,
    title,
    description,
    datasource: SOURCE,
    fieldConfig: { defaults: { unit, custom, thresholds: { mode: "absolute", steps } }, overrides: [] },
    options: type === "stat" ? { reduceOptions: { calcs: ["lastNotNull"] } } : {},
    targets: queries.map(({ expr, legend }, index) => ({
      refId: String.fromCharCode(65 + index),
      datasource: SOURCE,
      expr,
      legendFormat: legend,
    })),
  };
}

function sourceVariable(): object {
  return { name: "datasource", type: "datasource", query: "prometheus", label: "Data source", hide: 0 };
}

function jobVariable(): object {
  return {
    ...{ name: "job", type: "query", label: "Application", datasource: SOURCE },
    query: { query: `label_values(${selector(COUNTERS.tokenRequests)}, job)`, refId: "job" },
    ...{ includeAll: true, multi: true, allValue: ".*", refresh: 2, hide: 0 },
    current: { text: "All", value: "$__all" },
  };
}

function titleOf(name: string): string {
  const words = name.replaceAll(/[._]/g, " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
