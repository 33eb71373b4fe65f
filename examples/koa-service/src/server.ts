import type { AddressInfo } from "node:net";
import { createApp } from "./app.js";
import { settingsFrom } from "./settings.js";

const settings = settingsFrom(process.env);
// Behind a gateway on the same machine nobody else may reach us: see namedByGateway().
const host = settings.mode === "gateway" ? "127.0.0.1" : undefined;
const server = createApp(settings).listen(settings.port, host, () => {
  const { port } = server.address() as AddressInfo;
  console.log(`Listening on port ${port}, mode ${settings.mode}`);
});

// Finishes what is under way, then ends; a second signal ends at once.
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    server.close();
    server.closeIdleConnections();
  });
}
