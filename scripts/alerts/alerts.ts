import { COUNTERS, GAUGES, type Metric } from "../../packages/opentelemetry/src/metric-definitions.js";

/** The points of one counter: all of them, or by their `error.type`. */
export interface Counted {
  readonly metric: Metric;
  /** Only points with one of these; `[]`: only points without an error. */
  readonly errors?: readonly string[];
  /** All but points with one of these. */
  readonly butErrors?: readonly string[];
  /** Only renewals that failed although nothing else could be served: the access token had ended. */
  readonly hadEnded?: boolean;
}

interface Alert {
  /** As Prometheus shows it; the heading of its section in `docs/runbooks.md`. */
  readonly name: string;
  /** `page`: somebody gets up for it. `ticket`: it can wait for the morning. */
  readonly severity: "page" | "ticket";
  /** For how long it has to be so before it fires, minutes. */
  readonly forMinutes: number;
  /** What it means, for a table and a notification. */
  readonly means: string;
}

/** A part of what happened is too large, and it is not by chance. */
export interface RatioAlert extends Alert {
  readonly kind: "ratio";
  readonly part: readonly Counted[];
  readonly whole: readonly Counted[];
  /** The part in words, and the whole. */
  readonly words: readonly [part: string, whole: string];
  /** The largest share that is well, 0 to 1. */
  readonly moreThan: number;
  /** How many there have to be at least. */
  readonly atLeast: number;
  readonly windowMinutes: number;
}

/** A part of the fleet is too large. */
export interface FleetAlert extends Alert {
  readonly kind: "fleet";
  readonly part: Metric;
  readonly whole: Metric;
  readonly words: readonly [part: string, whole: string];
  readonly moreThan: number;
  readonly atLeast: number;
}

/** A gauge that counts seconds is too high. */
export interface AgeAlert extends Alert {
  readonly kind: "age";
  readonly metric: Metric;
  readonly words: string;
  readonly moreThanMinutes: number;
}

export type AlertRule = RatioAlert | FleetAlert | AgeAlert;

const ENDPOINT_FAILED = ["token_endpoint_failed", "bad_token_response"];
/** These callers are told about their own retailer. Nobody can mend it but that retailer. */
const OF_ONE_RETAILER = ["not_connected", "reconnect_required", "invalid_domain_prefix"];
const RENEWED: Counted = { metric: COUNTERS.renewals, errors: [] };
const LOGGED_IN: Counted = { metric: COUNTERS.logins, errors: [] };
const CALLERS_FAILED: Counted = { metric: COUNTERS.callersFailed, butErrors: OF_ONE_RETAILER };
const UNUSABLE: readonly Counted[] = [COUNTERS.callersFailed, COUNTERS.renewals].map((metric) => ({
  metric,
  errors: ["bad_stored_tokens"],
}));
const ALL_REQUESTS = "all token requests";

/** What is worth waking somebody, or a look in the morning. Everything that shows a rule is made from this table. */
export const ALERTS: readonly AlertRule[] = [
  {
    name: "RetailPosTokenEndpointFailing",
    kind: "ratio",
    severity: "page",
    part: [{ metric: COUNTERS.tokenRequests, errors: ENDPOINT_FAILED }],
    whole: [{ metric: COUNTERS.tokenRequests }],
    words: ["token requests without a usable answer", ALL_REQUESTS],
    moreThan: 0.2,
    atLeast: 5,
    windowMinutes: 10,
    forMinutes: 2,
    means: "the token endpoint is down, slow or sends unusable answers, so tokens that end are not renewed",
  },
  {
    name: "RetailPosClientRefused",
    kind: "ratio",
    severity: "page",
    part: [{ metric: COUNTERS.tokenRequests, errors: ["client_refused"] }],
    whole: [{ metric: COUNTERS.tokenRequests }],
    words: ["token requests refused because of the client id or secret", ALL_REQUESTS],
    moreThan: 0.01,
    atLeast: 1,
    windowMinutes: 10,
    forMinutes: 0,
    means: "the client id or secret is wrong: no token can be renewed, and no retailer can log in",
  },
  {
    name: "RetailPosCallersFailing",
    kind: "ratio",
    severity: "page",
    part: [CALLERS_FAILED],
    whole: [CALLERS_FAILED, RENEWED, LOGGED_IN],
    words: [
      "callers who got an error other than `not_connected`, `reconnect_required` or `invalid_domain_prefix`",
      "these callers, successful renewals and successful logins together",
    ],
    moreThan: 0.1,
    atLeast: 10,
    windowMinutes: 5,
    forMinutes: 2,
    means: "many requests and jobs get an error instead of a token",
  },
  {
    name: "RetailPosStoreFailing",
    kind: "ratio",
    severity: "page",
    part: [{ metric: COUNTERS.storeFailures }],
    whole: [{ metric: COUNTERS.storeFailures }, RENEWED, LOGGED_IN],
    words: [
      "failed operations of the token store or the lock",
      "these operations, successful renewals and successful logins together",
    ],
    moreThan: 0.1,
    atLeast: 3,
    windowMinutes: 10,
    forMinutes: 2,
    means: "the token store or the lock fails, so processes can only serve valid tokens from their memory",
  },
  {
    name: "RetailPosUnsaved",
    kind: "ratio",
    severity: "page",
    part: [{ metric: COUNTERS.unsaved }],
    whole: [{ metric: COUNTERS.unsaved }, RENEWED],
    words: [
      "token sets that the token store did not save",
      "these token sets and successful renewals together",
    ],
    moreThan: 0,
    atLeast: 1,
    windowMinutes: 60,
    forMinutes: 0,
    means:
      "only one process has a retailer's new refresh token: do not restart this process before the token is saved",
  },
  {
    name: "RetailPosRecordsUnusable",
    kind: "ratio",
    severity: "page",
    part: UNUSABLE,
    whole: [...UNUSABLE, RENEWED],
    words: [
      "failures with `bad_stored_tokens` (failed callers plus failed renewals)",
      "these failures and successful renewals together",
    ],
    moreThan: 0.01,
    atLeast: 1,
    windowMinutes: 60,
    forMinutes: 0,
    means: "a stored record is damaged, belongs to another application, or is encrypted with a missing key",
  },
  {
    name: "RetailPosManyReconnects",
    kind: "ratio",
    severity: "page",
    part: [{ metric: COUNTERS.reconnects }],
    whole: [{ metric: COUNTERS.reconnects }, RENEWED],
    words: [
      "retailers whose refresh token the service refused",
      "these retailers and successful renewals together",
    ],
    moreThan: 0.01,
    atLeast: 5,
    windowMinutes: 60,
    forMinutes: 0,
    means:
      "many retailers have to log in again, perhaps because a backup was restored or another program uses the same tokens",
  },
  {
    name: "RetailPosLoginsFailing",
    kind: "ratio",
    severity: "ticket",
    part: [{ metric: COUNTERS.logins, butErrors: [""] }],
    whole: [{ metric: COUNTERS.logins }],
    words: ["logins whose code was not exchanged for tokens", "all logins"],
    moreThan: 0.5,
    atLeast: 5,
    windowMinutes: 15,
    forMinutes: 5,
    means:
      "the redirect URI or the client secret is wrong, the token endpoint fails, or somebody sends made-up codes",
  },
  {
    name: "RetailPosRateLimited",
    kind: "ratio",
    severity: "ticket",
    part: [{ metric: COUNTERS.tokenRequests, errors: ["rate_limited"] }],
    whole: [{ metric: COUNTERS.tokenRequests }],
    words: ["token requests that were answered 429", ALL_REQUESTS],
    moreThan: 0.1,
    atLeast: 3,
    windowMinutes: 15,
    forMinutes: 5,
    means:
      "too many token requests are sent, because processes have separate token stores or the API rejects valid tokens",
  },
  {
    name: "RetailPosRenewalStuck",
    kind: "ratio",
    severity: "ticket",
    part: [{ metric: COUNTERS.renewals, errors: ENDPOINT_FAILED, hadEnded: true }],
    whole: [{ metric: COUNTERS.renewals }],
    words: ["renewals of ended tokens that got no usable answer", "all renewals"],
    moreThan: 0,
    atLeast: 1,
    windowMinutes: 120,
    forMinutes: 360,
    means:
      "the renewals of at least one retailer fail for ever, for example because the service answers 400 `invalid_request` for a token that the retailer revoked",
  },
  {
    name: "RetailPosRetailersEnded",
    kind: "fleet",
    severity: "ticket",
    part: GAUGES.ended,
    whole: GAUGES.connected,
    words: ["retailers whose access token has ended", "all connected retailers"],
    moreThan: 0.01,
    atLeast: 1,
    forMinutes: 60,
    means:
      "access tokens that no caller uses are not renewed: the job with `renewDue()` does not run, or fails",
  },
  {
    name: "RetailPosFleetUncounted",
    kind: "age",
    severity: "ticket",
    metric: GAUGES.countAge,
    words: "the last successful count of all retailers",
    moreThanMinutes: 30,
    forMinutes: 0,
    means:
      "the gauges `retail_pos.retailers.*` show old values: the token store cannot list retailers, or the count hangs",
  },
];
