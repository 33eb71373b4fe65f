import type { AddressInfo } from "node:net";
import { createApp } from "./app.js";
import { closeGracefully, stopSignal } from "./graceful-stop.js";
import { settingsFrom } from "./settings.js";

const settings = settingsFrom(process.env);
const stopping = stopSignal();
// Behind a gateway on the same machine nobody else may reach us: see namedByGateway().
const host = settings.mode === "gateway" ? "127.0.0.1" : undefined;
const server = createApp(settings, { stopping }).listen(settings.port, host, () => {
  const { port } = server.address() as AddressInfo;
  console.log(`Listening on port ${port}, mode ${settings.mode}`);
});
closeGracefully(server, stopping);
