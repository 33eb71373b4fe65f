import { alertsFile } from "./alerts-file.js";
import { dashboardFile } from "./dashboard.js";
import { alertsTable, metricsTable } from "./tables.js";

/**
 * Every file that is made from the tables of metrics and alerts, with what has to be in it.
 *
 * @param read a file of the repository as it is; in a document only what stands between the markers is replaced.
 */
export function monitoringFiles(read: (path: string) => string): Map<string, string> {
  const folder = "packages/opentelemetry";
  const readme = `${folder}/README.md`;
  return new Map([
    [`${folder}/alerts.yml`, alertsFile()],
    [`${folder}/dashboard.json`, dashboardFile()],
    [
      readme,
      between(
        between(read(readme), "metrics", metricsTable()),
        "alerts",
        alertsTable("../../docs/runbooks.md"),
      ),
    ],
  ]);
}

/** @throws {Error} the document has no such markers. */
function between(document: string, marker: string, text: string): string {
  const [begin, end] = [`<!-- ${marker}: made by \`pnpm alerts\` -->`, `<!-- end of ${marker} -->`];
  const [from, to] = [document.indexOf(begin), document.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`There is no "${begin}" before "${end}"`);
  return `${document.slice(0, from + begin.length)}\n${text}\n${document.slice(to)}`;
}
