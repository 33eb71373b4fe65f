import cluster from "node:cluster";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { RetailPosEvent } from "@retail-pos/core";
import { openTelemetry } from "@retail-pos/opentelemetry";
import { createApp } from "./app.js";
import { closeGracefully, stopSignal } from "./graceful-stop.js";
import { type Settings, settingsFrom } from "./settings.js";
import { openStore } from "./store.js";

/** Metrics and spans, for the OpenTelemetry SDK that was loaded before us. Without one nothing becomes of them. */
const measure = openTelemetry();
const stopping = stopSignal();

try {
  const settings = settingsFrom(process.env);
  if (cluster.isPrimary && settings.WORKERS > 1) startWorkers(settings);
  else await serve(settings);
} catch (error) {
  console.error(`It could not start: ${(error as Error).message}`);
  process.exit(1);
}

/** Starts the workers, and a new one a second after one has died. */
function startWorkers(settings: Settings): void {
  const count = settings.WORKERS;
  const listening = new Set<number>();
  cluster.on("listening", ({ id, process }, { port }) => {
    console.log(`Worker ${id} (process ${process.pid}) is listening`);
    if (listening.add(id).size === count) console.log(whereToOpen(settings, port));
  });
  cluster.on("exit", ({ id }, code, signal) => {
    if (stopping.aborted) return;
    console.error(`Worker ${id} died: ${signal ?? `exit code ${code}`}`);
    if (listening.size === 0) process.exit(1); // what stops the first would stop every other
    setTimeout(() => stopping.aborted || cluster.fork(), 1000);
  });
  stopping.addEventListener("abort", () => {
    for (const worker of Object.values(cluster.workers ?? {})) worker?.send("stop");
  });
  for (let started = 0; started < count; started += 1) cluster.fork();
}

/** Serves the application until it is told to stop. */
async function serve(settings: Settings): Promise<void> {
  const leave = () => process.exit(); // nothing is under way yet
  stopping.addEventListener("abort", leave);
  const { tokens, sessions, release } = await openStore(settings);
  stopping.removeEventListener("abort", leave);
  const server = createServer(createApp(settings, { ...tokens, sessions, stopping, observe }));
  closeGracefully(server, stopping);
  server.once("close", () => {
    release(); // no process.exit(): a renewal goes on when its browser has left, and has to be saved
    cluster.worker?.disconnect();
  });
  server.listen(settings.PORT, settings.HOST, () => {
    if (cluster.isPrimary) console.log(whereToOpen(settings, (server.address() as AddressInfo).port));
  });
}

/** Behind a proxy that ends TLS people open the address of the redirect URI. */
function whereToOpen({ service }: Settings, port: number): string {
  const { protocol, origin } = new URL(service.redirectUri);
  return protocol === "https:"
    ? `Listening on port ${port}: open ${origin}`
    : `Open http://localhost:${port}`;
}

/** A line on standard error for each thing that happens to tokens. There is no secret in it. */
function observe(event: RetailPosEvent): void {
  measure(event);
  if (event.type === "token_request" && event.error) return; // another event says what came of it
  const { type, domainPrefix = "unknown", at: _, ...details } = event;
  const words = JSON.stringify(details, (_, value) => (value instanceof Error ? String(value) : value));
  console.error(`retail-pos ${type} store=${domainPrefix} ${words}`);
}
