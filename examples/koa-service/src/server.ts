import type { AddressInfo } from "node:net";
import { createApp } from "./app.js";
import { openDatabase } from "./database.js";
import { logEvents } from "./event-log.js";
import { closeGracefully, stopSignal } from "./graceful-stop.js";
import { settingsFrom } from "./settings.js";

const settings = settingsFrom(process.env);
const stopping = stopSignal();
const { close, ...kept } = openDatabase(settings.databaseFile);
const app = createApp(settings, { ...kept, stopping, observe: logEvents() });
const server = app.listen(settings.port, settings.host, () => {
  const { port } = server.address() as AddressInfo;
  console.log(`Listening on port ${port}, retailer from ${settings.retailerFrom}`);
});
closeGracefully(server, stopping);

// Last of all: a renewal goes on when the browser that caused it has left, and its token has to be saved.
process.once("exit", close);
