import cluster from "node:cluster";
import { once } from "node:events";
import { createServer } from "node:http";
import type { RetailPosEvent } from "@retail-pos/core";
import { openTelemetry } from "@retail-pos/opentelemetry";
import { createApp } from "./app.js";
import { engineOf } from "./engine.js";
import { logEvents } from "./event-log.js";
import { closeGracefully, stopSignal } from "./graceful-stop.js";
import type { Settings } from "./settings.js";

/** Serves the application, as one process of several, until SIGTERM or SIGINT. */
export async function serve(settings: Settings): Promise<void> {
  const stopping = stopSignal(); // Ctrl-C reaches every process; otherwise the primary passes it on
  // A service manager may tell every process itself: then the primary's word is a second signal, and no more than that.
  process.on("SIGTERM", () => {});
  // This waits while Redis is away. Nothing is under way yet, so the signal may end the process at once.
  stopping.addEventListener("abort", leave);
  const shared = await engineOf(settings).open(settings);
  stopping.removeEventListener("abort", leave);
  const server = createServer(createApp(settings, shared, { observe, stopping }));
  closeGracefully(server, stopping);
  server.once("close", () => {
    shared.close();
    cluster.worker?.disconnect();
  });
  server.listen(settings.port, settings.host);
  await once(server, "listening");
}

const leave = () => process.exit();

const name = `Worker ${cluster.worker?.id} (process ${process.pid})`;

/** What happens to tokens, for whoever reads the log. */
const log = logEvents({
  info: (line) => console.log(`${name}: ${line}`),
  warn: (line) => console.warn(`${name}: ${line}`),
});

/** Metrics and spans, for the OpenTelemetry SDK that was loaded before us. Without one nothing becomes of them. */
const signal = openTelemetry();

function observe(event: RetailPosEvent): void {
  log(event);
  signal(event);
}
