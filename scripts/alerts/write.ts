// Writes every file that is made from the tables of @retail-pos/opentelemetry: alert rules, the dashboard, and the
// tables in documents.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { monitoringFiles } from "./files.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const files = monitoringFiles((path) => readFileSync(root + path, "utf8"));
for (const [path, text] of files) {
  writeFileSync(root + path, text);
  console.log(path);
}
