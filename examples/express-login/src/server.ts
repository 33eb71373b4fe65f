import { createApp } from "./app.js";
import { settingsFrom } from "./settings.js";

const settings = settingsFrom(process.env);
const server = createApp(settings).listen(settings.port, (error) => {
  if (error) throw error;
  console.log(`Open http://localhost:${settings.port}`);
});

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    server.close();
    server.closeIdleConnections();
  });
}
