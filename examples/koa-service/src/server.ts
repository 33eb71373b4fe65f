import { mkdirSync, writeFileSync } from "node:fs";
import { type AddressInfo, Server } from "node:net";
import { dirname } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { RetailPosEvent } from "@retail-pos/core";
import { sqliteTokens } from "@retail-pos/store-sqlite";
import closeWithGrace from "close-with-grace";
import Database from "libsql";
import { createApp } from "./app.js";
import { settingsFrom } from "./settings.js";

/** Node ends a quiet connection after five seconds. Later, no client has one left on which it sends a request. */
const STILL_SERVING_MS = 6000;
const LONGEST_ANSWER_MS = 4000;

const settings = settingsFrom(process.env);
const stopping = new AbortController();
mkdirSync(dirname(settings.DATABASE_FILE), { recursive: true });
// It holds tokens: other users of this machine must not read it.
writeFileSync(settings.DATABASE_FILE, "", { flag: "a", mode: 0o600 });
const database = new Database(settings.DATABASE_FILE);
const app = createApp(settings, {
  ...sqliteTokens({ database }),
  stopping: stopping.signal,
  observe,
});
const server = app.listen(settings.PORT, settings.HOST, () => {
  const { port } = server.address() as AddressInfo;
  console.log(`Listening on port ${port}, retailer from ${settings.RETAILER_FROM}`);
});

closeWithGrace(
  { delay: false, skip: ["uncaughtException", "unhandledRejection", "beforeExit"] },
  async () => {
    stopping.abort(); // `/ready` says no, and every answer ends its connection
    await wait(STILL_SERVING_MS);
    // Not the close() of HTTP, which ends quiet connections at once: a request may be on its way on one.
    Server.prototype.close.call(server);
    setTimeout(() => server.closeAllConnections(), LONGEST_ANSWER_MS).unref();
    // Node ends the process by itself, when a renewal that is under way has been saved, too.
    await new Promise(() => {});
  },
);
process.once("exit", () => database.close());

/** A line on standard error for each thing that happens to tokens. There is no secret in it. */
function observe({ type, domainPrefix, at: _, ...details }: RetailPosEvent): void {
  if (type === "token_request" && "error" in details && details.error) return; // another event says what came of it
  const words = JSON.stringify(details, (_, value) => (value instanceof Error ? String(value) : value));
  console.error(`retail-pos ${type} store=${domainPrefix ?? "unknown"} ${words}`);
}
