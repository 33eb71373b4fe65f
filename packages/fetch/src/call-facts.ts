/** What has to be known of a call before it is sent. */
export interface Call {
  readonly origin: string;
  readonly host: string;
  readonly signal: AbortSignal | undefined;
  /** 4.2, 4.3: it waits for nobody. */
  readonly isTokenRequest: boolean;
  /** It changes nothing at the service and can be sent again: it may wait for its host's turn. */
  readonly isRepeatable: boolean;
}

/** @returns `undefined` if no host is asked: `data:` and the like, and what `fetch` itself will refuse. */
export function callOf(input: string | URL | Request, init: RequestInit | undefined): Call | undefined {
  const request = isRequest(input) ? input : undefined;
  const address = request ? request.url : String(input);
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) return undefined;
  const method = String(init?.method ?? request?.method ?? "GET").toUpperCase();
  const signal = init?.signal === undefined ? request?.signal : init.signal; // null frees it of the request's own
  const hasBody = Boolean(init?.body ?? request?.body);
  return {
    origin: url.origin,
    host: url.host,
    signal: signal instanceof AbortSignal ? signal : undefined,
    isTokenRequest: method === "POST" && url.pathname.endsWith("/api/1.0/token"),
    isRepeatable: ["GET", "HEAD", "OPTIONS"].includes(method) && !hasBody,
  };
}

/** Not `instanceof`: a replaced `fetch` may take a `Request` of its own. */
function isRequest(input: string | URL | Request): input is Request {
  return typeof input === "object" && typeof (input as Request).url === "string";
}
