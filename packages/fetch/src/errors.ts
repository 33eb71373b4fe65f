/** A call that was not sent, or not sent again after a 429. What a failed request ends with is `fetch`'s own error. */
export class RetailFetchError extends Error {
  /** As `Error` has it. */
  override readonly name = "RetailFetchError";
  /** `closed`: `close()` was called. `queue_full`: too many calls wait for this host. */
  readonly code: "closed" | "queue_full";
  /** The host of the call, with its port if it has one of its own. */
  readonly host: string;

  /** Only `retailFetch` makes it. */
  constructor(code: RetailFetchError["code"], host: string, message: string) {
    super(message);
    this.code = code;
    this.host = host;
  }
}

/** The call came after `close()`, or waited when it was called. */
export function closedError(host: string): RetailFetchError {
  return new RetailFetchError("closed", host, `A call to ${host} was not sent: this retailFetch is closed`);
}

/** As many calls as may wait for this host do. */
export function queueFullError(host: string, most: number): RetailFetchError {
  const bound = most.toLocaleString("en");
  return new RetailFetchError(
    "queue_full",
    host,
    `A call to ${host} was not sent: ${bound} calls wait for this host already, and no more than ${bound} may`,
  );
}
