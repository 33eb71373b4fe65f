import type { AddressInfo } from "node:net";
import { createApp } from "./app.js";
import { openDatabase } from "./database.js";
import { logEvents } from "./event-log.js";
import { closeGracefully, stopSignal } from "./graceful-stop.js";
import { settingsFrom } from "./settings.js";

const settings = settingsFrom(process.env);
const stopping = stopSignal();
const { close, ...kept } = openDatabase(settings.databaseFile);
const app = await createApp(settings, { ...kept, stopping, observe: logEvents() });
closeGracefully(app.getHttpServer(), stopping);
app.getHttpServer().once("close", () => void app.close());
// The signal may have come while the application was made: then the server only closes.
if (!stopping.aborted) {
  await app.listen(settings.port, settings.host);
  console.log(`Open http://localhost:${(app.getHttpServer().address() as AddressInfo).port}`);
}
// Last of all: a renewal goes on when the browser that caused it has left, and its token has to be saved.
process.once("exit", close);
