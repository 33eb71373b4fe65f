import { retailFetch } from "@retail-pos/fetch";
import { openParts } from "./parts.js";
import { pullAll } from "./pull-all.js";
import { settingsFrom } from "./settings.js";

// A process of its own, started once a night by a timer of the machine. It pulls from all stores, and ends. The exit
// code is 1 if the run could not go on, or met tokens that cannot be read.

/** How long a call waits for the API's rate limit. A store that wants more is tried again tomorrow. */
const WAIT_429_MS = 10 * 60_000;

const settings = settingsFrom(process.env);
const stopping = new AbortController();
for (const name of ["SIGTERM", "SIGINT"]) process.once(name, () => stopping.abort());
const parts = openParts(settings, { fetch: retailFetch({ wait429Ms: WAIT_429_MS }) });
// Not before: a renewal may still be under way, and its token has to be saved.
process.once("exit", () => parts.close());
try {
  const report = await pullAll(parts, settings.STORES_AT_ONCE, stopping.signal);
  console.log("Nightly run:", JSON.stringify(report));
  if (report.unreadable > 0) process.exitCode = 1;
} catch (error) {
  stopping.abort(); // drops the calls that are under way
  console.error("The run could not go on:", error);
  process.exitCode = 1;
}
