import type { Attributes, Counter, Histogram, Meter } from "@opentelemetry/api";
import type { StoreOperation } from "@retail-pos/core";
import type { ErrorType } from "./error-type.js";
import {
  COUNTERS,
  type CounterName,
  HISTOGRAMS,
  type HistogramName,
  type Metric,
} from "./metric-definitions.js";

export type Instruments = Record<CounterName, Counter> & Record<HistogramName, Histogram>;

/** Seconds. By default a token request is given up after ten (`timeoutMs`). */
const BOUNDARIES = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];

/** The instruments that events are recorded with. Every failure that can be counted stands there with a zero. */
export function instruments(meter: Meter): Instruments {
  const counter = ({ name, unit, description }: Metric) => meter.createCounter(name, { unit, description });
  const histogram = ({ name, unit, description }: Metric) =>
    meter.createHistogram(name, { unit, description, advice: { explicitBucketBoundaries: BOUNDARIES } });
  const made = Object.fromEntries([
    ...Object.entries(COUNTERS).map(([name, metric]) => [name, counter(metric)]),
    ...Object.entries(HISTOGRAMS).map(([name, metric]) => [name, histogram(metric)]),
  ]) as Instruments;
  for (const [name, series] of Object.entries(SERIES) as [CounterName, Attributes[]][])
    for (const attributes of series) made[name].add(0, attributes);
  return made;
}

const failed = (...types: ErrorType[]): Attributes[] => types.map((type) => ({ "error.type": type }));
const ENDPOINT = ["token_endpoint_failed", "bad_token_response", "client_refused", "rate_limited"] as const;
const OPERATIONS: StoreOperation[] = ["load", "save", "remove", "list", "claim", "lock"];

/**
 * A rate counts from one sample to the next: a series that begins with its first failure would hide that failure, and
 * a rule that waits for one would never fire.
 */
const SERIES: Record<CounterName, Attributes[]> = {
  tokenRequests: [
    ...[{}, ...failed(...ENDPOINT, "reconnect_required")].map((about) => grant("refresh_token", about)),
    ...[{}, ...failed(...ENDPOINT, "code_refused")].map((about) => grant("authorization_code", about)),
  ],
  renewals: [
    {},
    ...failed("token_endpoint_failed", "bad_token_response", "client_refused", "bad_stored_tokens").flatMap(
      (about) => [true, false].map((served) => ({ ...about, "retail_pos.served_held_token": served })),
    ),
  ],
  logins: [
    {},
    ...failed(...ENDPOINT, "code_refused", "store_failed", "retailer_not_accepted", "invalid_domain_prefix"),
  ],
  disconnects: [{}],
  reconnects: [{}],
  unsaved: [{}],
  storeFailures: OPERATIONS.map((operation) => ({ "retail_pos.operation": operation })),
  callersFailed: failed(
    ...ENDPOINT,
    ...(["store_failed", "bad_stored_tokens", "reconnect_required"] as const),
    ...(["not_connected", "invalid_domain_prefix"] as const),
  ),
};

function grant(type: string, about: Attributes): Attributes {
  return { "retail_pos.grant": type, ...about };
}
