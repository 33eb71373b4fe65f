import { redact } from "../secrets.js";
import type { FaultKind } from "./faults.js";

/** One request the service saw. Nothing in it is secret: no query, no body, no token, no code. */
export interface LoggedRequest {
  /** Counts up from 1. */
  readonly id: number;
  /** When it had arrived, by the sandbox's clock. */
  readonly at: number;
  /** `trap` is where the fault `"redirect"` leads: nothing a careful client sends should ever arrive there. */
  readonly endpoint: "connect" | "token" | "api" | "trap";
  /** In capitals, as HTTP has it. */
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  /** Absent when the request was for no store of the sandbox. */
  readonly domainPrefix?: string;
  /** Token endpoint only. */
  readonly grantType?: "authorization_code" | "refresh_token" | "unsupported";
  /** Whether it carried an `Authorization` header. */
  readonly authorization: boolean;
  /** Length of the request's body, in UTF-16 units of its text. */
  readonly bodyLength: number;
  /** Absent as long as there is no answer, and for ever if none is sent. */
  readonly status?: number;
  /** The error code that was answered, e.g. `invalid_grant`. */
  readonly error?: string;
  /** The fault that hit this request. */
  readonly fault?: FaultKind;
}

export type Arrival = Omit<LoggedRequest, "id" | "at" | "status" | "error" | "fault">;
export type Outcome = Pick<LoggedRequest, "status" | "error" | "fault">;

export interface RequestLog {
  /** Writes a request down as it arrives; returns the function to call with its outcome. */
  arrived(arrival: Arrival): (outcome: Outcome) => void;
  /** Oldest first; the last 10,000. */
  entries(): LoggedRequest[];
  latest(count: number): LoggedRequest[];
}

/** More than a test looks at, and no more than some megabytes. */
const kept = 10_000;

/** Paths never show the client secret or a token; `onChange` is called for every arrival and every outcome. */
export function requestLog(
  application: { readonly clientSecret: string },
  now: () => number,
  onChange: (entry: LoggedRequest) => void,
): RequestLog {
  const entries: LoggedRequest[] = [];
  let lastId = 0;

  return {
    arrived(arrival) {
      lastId += 1;
      // A client may put a secret into a path by mistake, and people look at this log.
      const path = redact(arrival.path, application.clientSecret).slice(0, 200);
      const entry: LoggedRequest = { id: lastId, at: now(), ...arrival, path };
      entries.push(entry);
      if (entries.length > kept) entries.shift();
      onChange(entry);
      // The outcome is added to the same entry. Until then it shows a request without an answer.
      return (outcome) => onChange(Object.assign(entry, outcome));
    },
    entries: () => entries.map((entry) => ({ ...entry })), // copies: they change no more
    latest: (count) => entries.slice(-count),
  };
}
