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
      "Renewals; those without error.type succeeded. A renewal that a 429 or the store stopped is not counted here",
    attributes: [ERROR, "retail_pos.served_held_token"],
  },
  logins: {
    name: "retail_pos.logins",
    kind: "counter",
    unit: "{login}",
    description: "Logins; those without error.type succeeded",
    attributes: [ERROR],
  },
  disconnects: {
    name: "retail_pos.disconnects",
    kind: "counter",
    unit: "{retailer}",
    description: "Retailers whose tokens were deleted",
    attributes: [],
  },
  reconnects: {
    name: "retail_pos.reconnects_required",
    kind: "counter",
    unit: "{retailer}",
    description:
      "Retailers that have to log in again; each is counted when the service refuses its refresh token",
    attributes: [],
  },
  unsaved: {
    name: "retail_pos.unsaved",
    kind: "counter",
    unit: "{token_set}",
    description: "Token sets that the store did not save, so only one process has them",
    attributes: [],
  },
  storeFailures: {
    name: "retail_pos.store.failures",
    kind: "counter",
    unit: "{operation}",
    description:
      "Operations of the store or the lock that failed; several tries of one operation count as one",
    attributes: ["retail_pos.operation"],
  },
  callersFailed: {
    name: "retail_pos.callers.failed",
    kind: "counter",
    unit: "{caller}",
    description: "Callers who asked for a token, or for anything else about a retailer, and got an error",
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
    description: "How long a renewal took, from its token request until its tokens were saved",
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
    description: "Retailers in the store whose refresh token was not refused",
    attributes: [],
  },
  refused: {
    name: "retail_pos.retailers.refused",
    kind: "gauge",
    unit: "{retailer}",
    description: "Retailers in the store whose refresh token was refused: they have to log in again",
    attributes: [],
  },
  due: {
    name: "retail_pos.retailers.due",
    kind: "gauge",
    unit: "{retailer}",
    description: "Connected retailers whose access token is due for an early renewal, or has ended",
    attributes: [],
  },
  ended: {
    name: "retail_pos.retailers.ended",
    kind: "gauge",
    unit: "{retailer}",
    description: "Connected retailers whose access token has ended: their next call waits for a renewal",
    attributes: [],
  },
  countAge: {
    name: "retail_pos.retailers.count_age",
    kind: "gauge",
    unit: "s",
    description: "Time since the last successful count of the other four gauges",
    attributes: [],
  },
};
