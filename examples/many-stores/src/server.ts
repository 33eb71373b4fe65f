import { type AddressInfo, Server } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { retailFetch } from "@retail-pos/fetch";
import closeWithGrace from "close-with-grace";
import { createApp } from "./app.js";
import { openParts } from "./parts.js";
import { settingsFrom } from "./settings.js";

/** Node ends a quiet connection after five seconds. Later, no browser has one left on which it sends a request. */
const STILL_SERVING_MS = 6000;
const LONGEST_ANSWER_MS = 4000;

const settings = settingsFrom(process.env);
const stopping = new AbortController();
const parts = openParts(settings, { fetch: retailFetch() });
process.once("exit", () => parts.close());
const server = createApp(settings, parts, stopping.signal).listen(settings.PORT, settings.HOST, (error) => {
  if (error) throw error;
  console.log(`Open http://localhost:${(server.address() as AddressInfo).port}`);
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
