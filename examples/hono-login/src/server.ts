import type { AddressInfo } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import { createApp } from "./app.js";
import { openDatabase } from "./database.js";
import { settingsFrom } from "./settings.js";

const settings = settingsFrom(process.env);
const { close, ...kept } = openDatabase(settings.databaseFile);
const server = createAdaptorServer({ fetch: createApp(settings, kept).fetch });
server.listen(settings.port, () => {
  console.log(`Open http://localhost:${(server.address() as AddressInfo).port}`);
});

// Finishes what is under way, then ends; a second signal ends at once.
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    server.close();
    if ("closeIdleConnections" in server) server.closeIdleConnections();
  });
}
// Last of all: a renewal goes on when the browser that caused it has left, and its token has to be saved.
process.once("exit", close);
