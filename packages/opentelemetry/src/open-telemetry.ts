import type { Attributes, MeterProvider, TracerProvider } from "@opentelemetry/api";
import type { RetailPosEvent } from "@retail-pos/core";
import { refuseMisspelt } from "@retail-pos/core/authoring";
import { errorType } from "./error-type.js";
import { type Instruments, instruments } from "./instruments.js";
import { checkProvider, tracerOf, withMeter } from "./providers.js";
import { recordSpan } from "./token-request-span.js";

/** Where the signals go. */
export interface OpenTelemetryOptions {
  /** Makes the meter; default: the one that is registered globally, also if that happens later. */
  meterProvider?: MeterProvider | undefined;
  /** Makes the tracer; default: the one that is registered globally, also if that happens later. */
  tracerProvider?: TracerProvider | undefined;
}

const NAMES = ["meterProvider", "tracerProvider"] satisfies (keyof OpenTelemetryOptions)[];

/**
 * An observer for `retailPos({ observe })`: metrics of everything that happens to tokens, and a span for each token
 * request. The span's parent is the span in which the caller asked that caused the request. Durations are in seconds;
 * no metric names a retailer, a span does (`retail_pos.domain_prefix`). The README has the table of all names.
 *
 * @throws {TypeError} naming the option that is no provider.
 */
export function openTelemetry(options: OpenTelemetryOptions = {}): (event: RetailPosEvent) => void {
  refuseMisspelt(options, NAMES, { meter: "meterProvider", tracer: "tracerProvider" });
  const { meterProvider, tracerProvider } = options;
  checkProvider("meterProvider", meterProvider);
  checkProvider("tracerProvider", tracerProvider);
  const made = withMeter(meterProvider, instruments);
  const tracer = tracerOf(tracerProvider);
  return (event) => {
    record(made(), event);
    if (event.type === "token_request") recordSpan(tracer, event);
  };
}

type Told<Type> = Extract<RetailPosEvent, { type: Type }>;
type Recorder<Type> = (to: Instruments, event: Told<Type>) => void;

const RECORDERS: { readonly [Type in RetailPosEvent["type"]]: Recorder<Type> } = {
  token_request: recordRequest,
  renewed(to, { tookMs, rotated }) {
    to.renewals.add(1);
    to.renewalDuration.record(secondsOf(tookMs), { "retail_pos.rotated": rotated });
  },
  renewal_failed: (to, { error, servedHeldToken }) =>
    to.renewals.add(1, { ...about(error), "retail_pos.served_held_token": servedHeldToken }),
  connected: (to) => to.logins.add(1),
  exchange_failed: (to, { error }) => to.logins.add(1, about(error)),
  disconnected: (to) => to.disconnects.add(1),
  reconnect_required: (to) => to.reconnects.add(1),
  unsaved: (to) => to.unsaved.add(1),
  store_failed: (to, { operation }) => to.storeFailures.add(1, { "retail_pos.operation": operation }),
  caller_failed: (to, { error }) => to.callersFailed.add(1, about(error)),
  rate_limited() {}, // counted as a token request with that error
};

function record(to: Instruments, event: RetailPosEvent): void {
  const recorder = RECORDERS[event.type] as Recorder<RetailPosEvent["type"]> | undefined;
  recorder?.(to, event); // a newer core may tell more
}

function recordRequest(to: Instruments, { grant, tookMs, status, error }: Told<"token_request">): void {
  const request = { "retail_pos.grant": grant, ...(error !== undefined && about(error)) };
  to.tokenRequests.add(1, request);
  const answered = status === undefined ? {} : { "http.response.status_code": status };
  to.tokenRequestDuration.record(secondsOf(tookMs), { ...request, ...answered });
}

function about(error: unknown): Attributes {
  return { "error.type": errorType(error) };
}

/** Never below 0: a clock may be set back while something is timed. */
function secondsOf(ms: number): number {
  return Math.max(0, ms / 1000);
}
