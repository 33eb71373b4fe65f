import {
  type Meter,
  type MeterProvider,
  metrics,
  type Tracer,
  type TracerProvider,
  trace,
} from "@opentelemetry/api";

const SCOPE = "@retail-pos/opentelemetry";

/** @throws {TypeError} naming the option. */
export function checkProvider(name: "meterProvider" | "tracerProvider", provider: unknown): void {
  const method = name === "meterProvider" ? "getMeter" : "getTracer";
  const isProvider = typeof Object(provider)[method] === "function";
  if (provider !== undefined && !isProvider)
    throw new TypeError(`${name} must be a provider with ${method}()`);
}

/**
 * What is made with a meter, made anew if another global provider is registered: an SDK may start after us, and the
 * API hands out a meter that reports nothing until then.
 */
export function withMeter<T>(given: MeterProvider | undefined, make: (meter: Meter) => T): () => T {
  let provider = given ?? metrics.getMeterProvider();
  let made = make(provider.getMeter(SCOPE));
  return () => {
    const current = given ?? metrics.getMeterProvider();
    if (current === provider) return made;
    made = make(current.getMeter(SCOPE)); // if it cannot be made, it is tried again
    provider = current;
    return made;
  };
}

/** The API's own tracer finds an SDK that starts later. */
export function tracerOf(given: TracerProvider | undefined): Tracer {
  return (given ?? trace.getTracerProvider()).getTracer(SCOPE);
}
