import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  type MetricData,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";

/** OpenTelemetry's own SDK, exporting into memory. */
export interface Signals {
  readonly meterProvider: MeterProvider;
  readonly tracerProvider: BasicTracerProvider;
  /** All metrics as they were exported now. */
  metrics(): Promise<MetricData[]>;
  /** The points of one metric that are not zero, as `value {attributes}`; of a histogram the value is its count. */
  points(name: string): Promise<string[]>;
  spans(): ReadableSpan[];
}

export function signals(): Signals {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
  const meterProvider = new MeterProvider({ readers: [reader] });
  const spans = new InMemorySpanExporter();
  const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] });

  async function metrics(): Promise<MetricData[]> {
    exporter.reset();
    await reader.forceFlush();
    return exporter
      .getMetrics()
      .flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics));
  }

  return {
    meterProvider,
    tracerProvider,
    metrics,
    async points(name) {
      const metric = (await metrics()).find(({ descriptor }) => descriptor.name === name);
      return (metric?.dataPoints ?? []).flatMap(({ value, attributes }) => {
        const count = typeof value === "number" ? value : (value as { count: number }).count;
        return count === 0 ? [] : [`${count} ${JSON.stringify(attributes)}`];
      });
    },
    spans: () => spans.getFinishedSpans(),
  };
}
