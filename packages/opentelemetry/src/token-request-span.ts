import { type HrTime, SpanKind, SpanStatusCode, type Tracer } from "@opentelemetry/api";
import { isRetailPosError, type RetailPosEvent } from "@retail-pos/core";
import { errorType } from "./error-type.js";

/** A span for a token request that is over, below the span that is active: core observes in its caller's context. */
export function recordSpan(tracer: Tracer, event: RetailPosEvent & { type: "token_request" }): void {
  const { domainPrefix, grant, startedAt, tookMs, status, error } = event;
  const span = tracer.startSpan("retail_pos.token_request", {
    kind: SpanKind.CLIENT,
    startTime: hrTime(startedAt),
    attributes: {
      "retail_pos.domain_prefix": domainPrefix,
      "retail_pos.grant": grant,
      ...(status !== undefined && { "http.response.status_code": status }),
      ...(error !== undefined && { "error.type": errorType(error) }),
    },
  });
  if (error !== undefined) {
    // The messages of core's own errors hold no secret; of any other nobody knows.
    const message = isRetailPosError(error) ? { message: error.message } : {};
    span.setStatus({ code: SpanStatusCode.ERROR, ...message });
  }
  span.end(hrTime(startedAt + tookMs));
}

/** A number of milliseconds would be taken for one since the process began, if it is small enough. */
function hrTime(at: number): HrTime {
  const seconds = Math.floor(at / 1000);
  return [seconds, Math.floor((at - seconds * 1000) * 1e6)];
}
