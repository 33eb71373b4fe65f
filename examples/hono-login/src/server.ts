import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { createApp } from "./app.js";
import { openDatabase } from "./database.js";
import { logEvents } from "./event-log.js";
import { closeGracefully, stopSignal } from "./graceful-stop.js";
import { settingsFrom } from "./settings.js";

const settings = settingsFrom(process.env);
const stopping = stopSignal();
const { close, ...kept } = openDatabase(settings.databaseFile);
const app = createApp(settings, { ...kept, stopping, observe: logEvents() });
const server = createServer(getRequestListener(app.fetch));
server.listen(settings.port, settings.host, () => {
  console.log(`Open http://localhost:${(server.address() as AddressInfo).port}`);
});
closeGracefully(server, stopping);

// Last of all: a renewal goes on when the browser that caused it has left, and its token has to be saved.
process.once("exit", close);
