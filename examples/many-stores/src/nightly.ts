import { retailFetch } from "@retail-pos/fetch";
import { openClient } from "./client.js";
import { openDatabase } from "./database.js";
import { logEvents } from "./event-log.js";
import { stopSignal } from "./graceful-stop.js";
import { memberships } from "./memberships.js";
import { inWords, pullAll } from "./pull-all.js";
import { Records } from "./records.js";
import { settingsFrom } from "./settings.js";

// A process of its own, for a timer of the machine: `node dist/nightly.js`, once a night. It goes through all stores,
// whoever has them, and ends. The exit code is 1 if the run could not go on, or met tokens that cannot be read.

/** So long a call waits for a rate limit of the API. A store that wants more has its turn at the end. */
const WAIT_429_MS = 60_000;

const settings = settingsFrom(process.env);
const stopping = stopSignal();
const database = await openDatabase(settings);
const fetch = retailFetch({ wait429Ms: WAIT_429_MS });
const client = openClient(settings, { ...database.tokens, fetch, observe: logEvents() });
const records = new Records(database.sql);
try {
  const report = await pullAll({
    client,
    records,
    memberships: memberships(client, records, database.tokens.lock),
    storesAtOnce: settings.storesAtOnce,
    signal: stopping,
  });
  console.log(inWords(report));
  if (report.unreadable > 0) process.exitCode = 1;
} catch (error) {
  console.error("The run could not go on:", error);
  process.exitCode = 1;
}
// Not closed by us: a renewal may still be under way, and its token has to be saved.
process.once("exit", () => void database.close());
