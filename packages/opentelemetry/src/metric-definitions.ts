/** One metric: what the code reports, what the README's table says, what alert rules and the dashboard ask for. */
export interface Metric {
  /** By OpenTelemetry's conventions. */
  readonly name: string;
  readonly kind: "counter" | "histogram" | "gauge";
  /** In UCUM; what is counted stands in braces. */
  readonly unit: string;
  readonly description: string;
  /** The names of its attributes. None is ever a domain prefix: each value would be a time series of its own. */
  readonly attributes: readonly string[];
}

const GRANT = "retail_pos.grant";
const ERROR = "error.type";

export type CounterName =
  | "tokenRequests"
  | "renewals"
  | "logins"
  | "disconnects"
  | "reconnects"
  | "unsaved"
  | "storeFailures"
  | "callersFailed";

/** What happened, so many times. */
export const COUNTERS: Readonly<Record<CounterName, Metric>> = {
  tokenRequests: {
    ...metric("counter", "retail_pos.token_requests", "{request}", GRANT, ERROR),
    description: "Requests to the token endpoint",
  },
  renewals: {
    ...metric("counter", "retail_pos.renewals", "{renewal}", ERROR, "retail_pos.served_held_token"),
    description:
      "Renewals; a renewal without error.type succeeded. Failures because of a 429, the token store, the lock or a refused refresh token are not counted",
  },
  logins: {
    ...metric("counter", "retail_pos.logins", "{login}", ERROR),
    description: "Logins that returned with a code; a login without error.type succeeded",
  },
  disconnects: {
    ...metric("counter", "retail_pos.disconnects", "{retailer}"),
    description: "Retailers whose tokens were deleted by disconnect()",
  },
  reconnects: {
    ...metric("counter", "retail_pos.reconnects_required", "{retailer}"),
    description:
      "Retailers whose refresh token the service refused, each once for this token: these retailers have to log in again",
  },
  unsaved: {
    ...metric("counter", "retail_pos.unsaved", "{token_set}"),
    description: "Token sets that the token store did not save: only one process has these tokens",
  },
  storeFailures: {
    ...metric("counter", "retail_pos.store.failures", "{operation}", "retail_pos.operation"),
    description:
      "Operations of the token store or the lock that failed; an operation that core tried several times counts once",
  },
  callersFailed: {
    ...metric("counter", "retail_pos.callers.failed", "{caller}", ERROR),
    description:
      "Callers who got an error in place of a token, and calls that need no token but name an invalid domain prefix or an unusable record",
  },
};

export type HistogramName = "tokenRequestDuration" | "renewalDuration";

/** How long it took. */
export const HISTOGRAMS: Readonly<Record<HistogramName, Metric>> = {
  tokenRequestDuration: {
    ...metric(
      "histogram",
      "retail_pos.token_request.duration",
      "s",
      GRANT,
      "http.response.status_code",
      ERROR,
    ),
    description: "How long a request to the token endpoint took, until the answer's body was read",
  },
  renewalDuration: {
    ...metric("histogram", "retail_pos.renewal.duration", "s", "retail_pos.rotated"),
    description: "How long a successful renewal took, from the token request until the new tokens were saved",
  },
};

export type GaugeName = "connected" | "refused" | "due" | "ended" | "countAge";

/** The fleet, as `countRetailers` counts it. */
export const GAUGES: Readonly<Record<GaugeName, Metric>> = {
  connected: {
    ...metric("gauge", "retail_pos.retailers.connected", "{retailer}"),
    description: "Retailers in the token store whose refresh token the service has not refused",
  },
  refused: {
    ...metric("gauge", "retail_pos.retailers.refused", "{retailer}"),
    description:
      "Retailers in the token store that have to log in again, because the service refused their refresh token",
  },
  due: {
    ...metric("gauge", "retail_pos.retailers.due", "{retailer}"),
    description:
      "Connected retailers whose access token has ended, or ends so soon that the next call renews it",
  },
  ended: {
    ...metric("gauge", "retail_pos.retailers.ended", "{retailer}"),
    description:
      "Connected retailers whose access token has ended, so that their next call waits for a renewal",
  },
  countAge: {
    ...metric("gauge", "retail_pos.retailers.count_age", "s"),
    description: "Time since countRetailers last counted all retailers successfully",
  },
};

function metric(kind: Metric["kind"], name: string, unit: string, ...attributes: string[]) {
  return { name, kind, unit, attributes };
}
