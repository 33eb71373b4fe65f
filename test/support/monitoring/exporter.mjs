// Loaded before a cluster (`node --import`): each worker has a page for Prometheus on a port of its own.
import cluster from "node:cluster";
import { createServer } from "node:http";
import { metrics } from "@opentelemetry/api";
import { PrometheusExporter } from "@opentelemetry/exporter-prometheus";
import { MeterProvider } from "@opentelemetry/sdk-metrics";

if (cluster.isWorker) {
  const exporter = new PrometheusExporter({ preventServerStart: true });
  metrics.setGlobalMeterProvider(new MeterProvider({ readers: [exporter] }));
  const server = createServer((req, res) => exporter.getMetricsRequestHandler(req, res));
  // Exclusive: else the workers of a cluster would share the port, and each scrape would meet another of them.
  server.listen({ port: 0, host: "127.0.0.1", exclusive: true }, () => {
    console.log(`Metrics at 127.0.0.1:${server.address().port}.`);
  });
}
