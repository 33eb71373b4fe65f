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
    name: "retail_pos.token_requests",
    kind: "counter",
    unit: "{request}",
    description: "Requests to the token endpoint",
    attributes: [GRANT, ERROR],
  },
  renewals: {
    name: "retail_pos.renewals",
    kind: "counter",
    unit: "{renewal}",
    description:
      "Renewals; a renewal without error.type succeeded. Failures because of a 429, the token store, the lock or a refused refresh token are not counted",
    attributes: [ERROR, "retail_pos.served_held_token"],
  },
  logins: {
    name: "retail_pos.logins",
    kind: "counter",
    unit: "{login}",
    description: "Logins that returned with a code; a login without error.type succeeded",
    attributes: [ERROR],
  },
  disconnects: {
    name: "retail_pos.disconnects",
    kind: "counter",
    unit: "{retailer}",
    description: "Retailers whose tokens were deleted by disconnect()",
    attributes: [],
  },
  reconnects: {
    name: "retail_pos.reconnects_required",
    kind: "counter",
    unit: "{retailer}",
    description:
      "Retailers whose refresh token the service refused, each once for this token: these retailers have to log in again",
    attributes: [],
  },
  unsaved: {
    name: "retail_pos.unsaved",
    kind: "counter",
    unit: "{token_set}",
    description: "Token sets that the token store did not save: only one process has these tokens",
    attributes: [],
  },
  storeFailures: {
    name: "retail_pos.store.failures",
    kind: "counter",
    unit: "{operation}",
    description:
      "Operations of the token store or the lock that failed; an operation that core tried several times counts once",
    attributes: ["retail_pos.operation"],
  },
  callersFailed: {
    name: "retail_pos.callers.failed",
    kind: "counter",
    unit: "{caller}",
    description:
      "Callers who got an error in place of a token, and calls that need no token but name an invalid domain prefix or an unusable record",
    attributes: [ERROR],
  },
};

export type HistogramName = "tokenRequestDuration" | "renewalDuration";

/** How long it took. */
export const HISTOGRAMS: Readonly<Record<HistogramName, Metric>> = {
  tokenRequestDuration: {
    name: "retail_pos.token_request.duration",
    kind: "histogram",
    unit: "s",
    description: "How long a request to the token endpoint took, until the answer's body was read",
    attributes: [GRANT, "http.response.status_code", ERROR],
  },
  renewalDuration: {
    name: "retail_pos.renewal.duration",
    kind: "histogram",
    unit: "s",
    description: "How long a successful renewal took, from the token request until the new tokens were saved",
    attributes: ["retail_pos.rotated"],
  },
};

export type GaugeName = "connected" | "refused" | "due" | "ended" | "countAge";

/** The fleet, as `countRetailers` counts it. */
export const GAUGES: Readonly<Record<GaugeName, Metric>> = {
  connected: {
    name: "retail_pos.retailers.connected",
    kind: "gauge",
    unit: "{retailer}",
    description: "Retailers in the token store whose refresh token the service has not refused",
    attributes: [],
  },
  refused: {
    name: "retail_pos.retailers.refused",
    kind: "gauge",
    unit: "{retailer}",
    description:
      "Retailers in the token store that have to log in again, because the service refused their refresh token",
    attributes: [],
  },
  due: {
    name: "retail_pos.retailers.due",
    kind: "gauge",
    unit: "{retailer}",
    description:
      "Connected retailers whose access token has ended, or ends so soon that the next call renews it",
    attributes: [],
  },
  ended: {
    name: "retail_pos.retailers.ended",
    kind: "gauge",
    unit: "{retailer}",
    description:
      "Connected retailers whose access token has ended, so that their next call waits for a renewal",
    attributes: [],
  },
  countAge: {
    name: "retail_pos.retailers.count_age",
    kind: "gauge",
    unit: "s",
    description: "Time since countRetailers last counted all retailers successfully",
    attributes: [],
  },
};
