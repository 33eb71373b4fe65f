import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";

/**
 * A request, read whole. Endpoints are functions from one of these to an {@link Answer} and know no sockets, so that a
 * fault can change the answer on its way.
 */
export interface Incoming {
  readonly method: string;
  /** Without the query, exactly as sent: nothing decoded, no dot segments resolved. */
  readonly path: string;
  /** The path between its slashes. */
  readonly segments: readonly string[];
  /** Without the question mark; empty if there is none. */
  readonly search: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** The body went over the bound and was not read further. */
  readonly bodyTooLong: boolean;
  readonly from: Caller;
}

/** Who sent a request, as far as the wire shows it. Each request has an object of its own. */
export interface Caller {
  /** Its `User-Agent`, without what no page could show; empty if it sent none. */
  readonly name: string;
  /** Where its connection comes from: tells two processes of one application apart. */
  readonly port: number;
}

/** An answer as a plain value, which a fault may change before it is sent. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** No request of this service needs more. */
const maxBodyBytes = 65_536;

export function jsonAnswer(status: number, value: unknown, headers: Record<string, string> = {}): Answer {
  const type = { "Content-Type": "application/json; charset=utf-8", "Cache-Control": "no-store" };
  return { status, headers: { ...type, ...headers }, body: JSON.stringify(value) };
}

export function textAnswer(status: number, text: string, headers: Record<string, string> = {}): Answer {
  return { status, headers: { "Content-Type": "text/plain; charset=utf-8", ...headers }, body: `${text}\n` };
}

/** The answer to a method that an address does not take. */
export function methodNotAllowed(allow: string): Answer {
  return jsonAnswer(405, { error: "method_not_allowed" }, { Allow: allow });
}

/** Rejects when the client goes away before it has sent everything. */
export async function readIncoming(request: IncomingMessage): Promise<Incoming> {
  const url = request.url ?? "/";
  const [path = "/"] = url.split("?", 1);
  const search = url.slice(path.length + 1);
  const { body, bodyTooLong } = await readBody(request);
  return {
    method: request.method ?? "GET",
    path,
    segments: path.split("/").slice(1),
    search,
    query: new URLSearchParams(search),
    headers: request.headers,
    body,
    bodyTooLong,
    from: callerOf(request),
  };
}

function callerOf({ headers, socket }: IncomingMessage): Caller {
  const name = (headers["user-agent"] ?? "").replace(/[^\x20-\x7e]/g, "");
  return { name, port: socket.remotePort ?? 0 };
}

export function sendAnswer(response: ServerResponse, { status, headers, body }: Answer): void {
  const common = { "Content-Length": String(Buffer.byteLength(body)), "X-Content-Type-Options": "nosniff" };
  response.writeHead(status, { ...common, ...headers });
  response.end(body);
}

/** The names that occur more than once. */
export function repeatedNames(parameters: URLSearchParams): string[] {
  const names = [...parameters.keys()];
  return [...new Set(names.filter((name, index) => names.indexOf(name) !== index))];
}

/** The media type of the body, lower-case and without its parameters. */
export function mediaTypeOf({ headers }: Incoming): string {
  return (headers["content-type"] ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
}

/** The first label of the host, where that is a store's: `harbour-coffee.localhost`. */
export function storeLabelOf({ headers }: Incoming): string | undefined {
  return /^([^.:]+)\.localhost(:\d{1,5})?$/i.exec(headers.host ?? "")?.[1]?.toLowerCase();
}

/**
 * Whether the request was addressed to this machine by its own name. A web page
 * elsewhere can point its own host name at 127.0.0.1 (DNS rebinding); the Host
 * header then still says whose page it was.
 */
export function isForLoopback({ headers }: Incoming): boolean {
  return /^(127\.0\.0\.1|localhost)(:\d{1,5})?$/i.test(headers.host ?? "");
}

/** Whether a browser says that another site's page made this request. Programs send neither header. */
export function isCrossSite({ headers }: Incoming): boolean {
  const site = headers["sec-fetch-site"];
  if (site !== undefined && site !== "same-origin" && site !== "none") return true;
  return headers.origin !== undefined && !ownOrigins(headers.host).includes(headers.origin);
}

const ownOrigins = (host = "") => [`http://${host}`, `https://${host}`];

async function readBody(request: IncomingMessage): Promise<{ body: string; bodyTooLong: boolean }> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  let bodyTooLong = false;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    // The rest is read and thrown away, so that the sender reads the refusal; but not more than ten times the bound.
    if (bytes > maxBodyBytes) bodyTooLong = true;
    else chunks.push(chunk);
    if (bytes > maxBodyBytes * 10) request.destroy();
  }
  return { body: bodyTooLong ? "" : Buffer.concat(chunks).toString("utf8"), bodyTooLong };
}
