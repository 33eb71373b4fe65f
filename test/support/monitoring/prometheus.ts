import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { root } from "../sources.js";

/** What is published: the alert rules, and the dashboard. */
export const rulesFile = join(root, "packages/opentelemetry/alerts.yml");
export const dashboardFile = join(root, "packages/opentelemetry/dashboard.json");

/** Where one of Prometheus' two programs is, if it is installed. */
export function findPrometheus(program: "prometheus" | "promtool"): string | undefined {
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  return folders.map((folder) => join(folder, program)).find((path) => existsSync(path));
}

/** Both are installed. */
export const canRun: boolean = Boolean(findPrometheus("promtool") && findPrometheus("prometheus"));

/** Each series, as Prometheus would have scraped it: a number for each sample, or nothing. */
export type Samples = ReadonlyMap<string, readonly (number | undefined)[]>;

/**
 * Lets Prometheus evaluate the published rules over these samples, and checks which of them have fired at any time, and
 * which still do at the end, if that is given. Rejects with what promtool says if others did, or fewer.
 */
export async function expectFired(
  samples: Samples,
  everySeconds: number,
  expected: readonly string[],
  atEnd?: readonly string[],
): Promise<void> {
  const count = Math.max(0, ...[...samples.values()].map(({ length }) => length));
  const seconds = count * everySeconds;
  const interval = `${everySeconds}s`;
  const firing = (alerts: string, names: readonly string[]) => ({
    expr: `count by (alertname) (${alerts})`,
    eval_time: `${seconds}s`,
    exp_samples: names.map((name) => ({ labels: `{alertname="${name}"}`, value: 1 })),
  });
  const unitTest = {
    rule_files: [rulesFile],
    evaluation_interval: interval,
    tests: [
      {
        interval,
        input_series: [...samples].map(([series, values]) => ({
          series,
          values: values.map(sample).join(" "),
        })),
        promql_expr_test: [
          firing(`last_over_time(ALERTS{alertstate="firing"}[${seconds + 1}s])`, expected),
          ...(atEnd ? [firing('ALERTS{alertstate="firing"}', atEnd)] : []),
        ],
      },
    ],
  };
  await inFile(unitTest, (file) => promtool("test", "rules", file));
}

/** JSON is YAML too. */
async function inFile(content: unknown, use: (file: string) => Promise<unknown>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "retail-pos-rules-"));
  try {
    const file = join(folder, "file.yml");
    writeFileSync(file, JSON.stringify(content));
    await use(file);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Rejects with what promtool says of the first of these queries that is none. */
export async function expectQueries(queries: readonly string[]): Promise<void> {
  const rules = queries.map((expr, index) => ({ record: `query:${index}`, expr }));
  await inFile({ groups: [{ name: "queries", rules }] }, (file) => promtool("check", "rules", file));
}

/** Rejects with everything that it says if it is not content. */
export async function promtool(...args: string[]): Promise<string> {
  const path = findPrometheus("promtool") ?? "promtool";
  return promisify(execFile)(path, args).then(
    ({ stdout }) => stdout,
    ({ stdout = "", stderr = "" }) => {
      throw new Error(`promtool ${args[0]} ${args[1]}:\n${stdout}${stderr}`);
    },
  );
}

function sample(value: number | undefined): string {
  return value === undefined ? "_" : String(value);
}
