import type { AddressInfo } from "node:net";
import { retailFetch } from "@retail-pos/fetch";
import { createApp } from "./app.js";
import { openClient } from "./client.js";
import { openDatabase } from "./database.js";
import { logEvents } from "./event-log.js";
import { closeGracefully, stopSignal } from "./graceful-stop.js";
import { settingsFrom } from "./settings.js";

const settings = settingsFrom(process.env);
const stopping = stopSignal();
const database = await openDatabase(settings);
const client = openClient(settings, { ...database.tokens, fetch: retailFetch(), observe: logEvents() });
const app = createApp(settings, { client, database, stopping });
const server = app.listen(settings.port, settings.host, (error) => {
  if (error) throw error;
  console.log(`Open http://localhost:${(server.address() as AddressInfo).port}`);
});
closeGracefully(server, stopping);

// Last of all: a renewal goes on when the browser that caused it has left, and its token has to be saved.
process.once("exit", () => void database.close());
