import type { AddressInfo } from "node:net";
import { createApp } from "./app.js";
import { openDatabase } from "./database.js";
import { closeGracefully, stopSignal } from "./graceful-stop.js";
import { settingsFrom } from "./settings.js";

const settings = settingsFrom(process.env);
const stopping = stopSignal();
const { close, ...kept } = openDatabase(settings.databaseFile);
const app = createApp(settings, { ...kept, stopping, logger: true });
closeGracefully(app.server, stopping);
app.server.once("close", () => void app.close());
await app.listen({ port: settings.port, host: settings.host });
console.log(`Open http://localhost:${(app.server.address() as AddressInfo).port}`);
// Last of all: a renewal goes on when the browser that caused it has left, and its token has to be saved.
process.once("exit", close);
