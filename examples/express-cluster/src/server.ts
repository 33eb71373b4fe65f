import cluster from "node:cluster";
import { startWorkers } from "./primary.js";
import { type Settings, settingsFrom } from "./settings.js";
import { serve } from "./worker.js";

// The same file runs once as the primary, which serves nobody, and once for each worker.
const role: (settings: Settings) => Promise<void> = cluster.isPrimary ? startWorkers : serve;

try {
  await role(settingsFrom(process.env));
} catch (error) {
  console.error(`It could not start: ${(error as Error).message}`);
  process.exit(1);
}
