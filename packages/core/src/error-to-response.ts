/** The reason phrases of RFC 9110, section 15, for the statuses that our errors have. */
const REASONS: Record<number, string> = {
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  500: "Internal Server Error",
  502: "Bad Gateway",
  503: "Service Unavailable",
};

/** The answer of an HTTP handler to an error of ours. It has the message only if anybody may see it. */
export function responseTo(error: {
  readonly status: number;
  readonly message: string;
  readonly expose: boolean;
  readonly headers?: Readonly<Record<string, string>>;
}): Response {
  const { status, message, expose } = error;
  const headers = new Headers(error.headers);
  headers.set("content-type", "text/plain; charset=utf-8");
  headers.set("x-content-type-options", "nosniff");
  headers.set("cache-control", "no-store");
  return new Response(expose ? message : (REASONS[status] ?? "Error"), { status, headers });
}
