import type { IncomingMessage, ServerResponse } from "node:http";
import { refuseMisspelt } from "@retail-pos/core/authoring";

/** Any handler from `Request` to `Response`. */
export type WebHandler = (request: Request) => Response | Promise<Response>;

/** Options of {@link nodeHandler}. */
export interface NodeHandlerOptions {
  /**
   * Answers an error of the handler, while nothing is sent. Without it the returned promise rejects, so that Express,
   * Koa and Fastify answer. With plain `node:http` give it, or add `.catch`.
   */
  onError?: ((error: unknown, res: ServerResponse) => void) | undefined;
}

/** RFC 9113, 7. */
const HTTP2_INTERNAL_ERROR = 2;

/** Methods that `Request` refuses. */
const FORBIDDEN_METHODS = ["CONNECT", "TRACE", "TRACK"];

/** What makes a host end early, or begin late, in an address. */
const NO_HOST = /[\s/\\?#@]/;

/** A target that `URL` changes, by dot segments or blanks. The router in front has read the target that was sent. */
const MOVING_PATH = /[\t\n\r]|[\0-\x20]$|^[^?#]*(\\|\/(\.|%2e){1,2}(\/|[?#]|$))/i;

/**
 * Node frames the answer. These are a connection's own (RFC 9110, 7.6.1), or of a body that may have become another: a
 * wrong length would make the rest of this answer the beginning of the next.
 */
const NAMES =
  "connection content-length http2-settings keep-alive proxy-connection te trailer transfer-encoding upgrade";
export const FRAMING: readonly string[] = NAMES.split(" ");

/**
 * A web handler on Node's own request and response: `node:http`, `node:http2`, Express, Next's pages, serverless
 * adapters. The handler's `request` has what `req.headers` has, and its `signal` aborts when the browser leaves. On Koa
 * and Fastify let `ctx` and `reply` send the answer, or sessions and hooks miss it: docs/frameworks shows how.
 *
 * @returns a function whose promise resolves when the answer is sent. If the handler fails while nothing is sent, it
 * rejects with the handler's error; after that it ends the connection and resolves.
 */
export function nodeHandler(
  handler: WebHandler,
  options: NodeHandlerOptions = {},
): (req: IncomingMessage, res: ServerResponse) => Promise<void> {
  if (typeof handler !== "function") throw new TypeError("handler must be a function");
  refuseMisspelt(options, ["onError"] satisfies (keyof NodeHandlerOptions)[], { onfailure: "onError" });
  const { onError } = options;
  return async (req, res) => {
    const left = leaving(res);
    try {
      await send(await answerOf(handler, req, left), req, res, left);
    } catch (error) {
      if (res.writableEnded) return; // an answer of somebody else's, and whole
      if (res.headersSent) return breakOff(res);
      if (!onError) throw error;
      for (const name of res.getHeaderNames()) res.removeHeader(name); // one of them may be what failed
      onError(error, res);
    }
  };
}

/** Half an answer must not pass for a whole one. On HTTP/2 that takes an error code: `destroy` ends without one. */
function breakOff(res: ServerResponse): void {
  const { stream } = res as { stream?: { close(code: number): void } }; // of HTTP/2
  if (stream) stream.close(HTTP2_INTERNAL_ERROR);
  else res.destroy();
}

/** Aborts when the browser leaves before its answer has ended. */
function leaving(res: ServerResponse): AbortSignal {
  const controller = new AbortController();
  const leave = () => {
    if (!res.writableEnded) controller.abort();
  };
  res.once("close", leave);
  const { stream = res } = res as { stream?: { destroyed: boolean } }; // of HTTP/2
  if (stream.destroyed) leave(); // before this could be told
  return controller.signal;
}

async function answerOf(handler: WebHandler, req: IncomingMessage, left: AbortSignal): Promise<Response> {
  if (FORBIDDEN_METHODS.includes(req.method ?? ""))
    return new Response(null, { status: 405, headers: { allow: "GET" } });
  const request = requestOf(req, left);
  return request ? handler(request) : new Response("The request cannot be read\n", { status: 400 });
}

/** The web's `Request`; `undefined` if the address or the headers cannot be those of one. */
function requestOf(req: IncomingMessage, signal: AbortSignal): Request | undefined {
  const hasBody = req.method !== "GET" && req.method !== "HEAD" && !req.readableEnded;
  const body = hasBody && { body: ReadableStream.from(req), duplex: "half" };
  try {
    return new Request(addressOf(req), {
      method: req.method ?? "GET",
      headers: headersOf(req),
      signal,
      ...body,
    } as RequestInit);
  } catch {
    return undefined;
  }
}

/**
 * A router may have cut `url`, and a target may be a whole address (RFC 9112, 3.2.2). The host is the client's word:
 * use the path and the query of this only.
 *
 * @throws {TypeError} if the host is none, or `URL` would change the target.
 */
function addressOf(req: IncomingMessage & { originalUrl?: string }): string {
  const isTls = (req.socket as { encrypted?: boolean } | undefined)?.encrypted === true;
  const host = req.headers[":authority"] || req.headers.host || "localhost"; // the first on HTTP/2
  if (NO_HOST.test(String(host))) throw new TypeError("Host is no host");
  const target = (req.originalUrl ?? req.url ?? "/").replace(/^[a-z][a-z\d+.-]*:\/\/[^/?#\\]*/i, "");
  const path = target.startsWith("/") ? target : `/${target}`;
  if (MOVING_PATH.test(path)) throw new TypeError("URL would change the target");
  return `${isTls ? "https" : "http"}://${host}${path}`;
}

/** Those that the framework sees: an adapter may leave `rawHeaders` empty, a middleware may change `headers`. */
function headersOf(req: IncomingMessage): Headers {
  const headers = new Headers();
  // The pseudo headers of HTTP/2 begin with a colon.
  const fields = Object.entries(req.headers).filter(([name]) => !name.startsWith(":"));
  for (const [name, values] of fields) for (const value of [values ?? []].flat()) headers.append(name, value);
  return headers;
}

async function send(
  answer: Response,
  req: IncomingMessage,
  res: ServerResponse,
  left: AbortSignal,
): Promise<void> {
  const reader = answer.body?.getReader();
  const letGo = () => void reader?.cancel().catch(() => {});
  res.once("close", letGo); // a body may be quiet for hours
  try {
    if (left.aborted) return;
    if (res.headersSent) throw new Error("An answer has begun already");
    if (answer.type === "error") throw new TypeError("The handler answered Response.error()");
    setHead(answer, req, res);
    if (req.method === "HEAD") letGo();
    else if (reader) await pour(reader, res, left);
    if (!left.aborted && !res.writableEnded) await end(res);
  } finally {
    res.off("close", letGo);
    letGo(); // nothing is left of a body that was read to its end
  }
}

function setHead(answer: Response, req: IncomingMessage, res: ServerResponse): void {
  res.statusCode = answer.status;
  if (answer.statusText && req.httpVersionMajor < 2) res.statusMessage = answer.statusText;
  for (const [name, value] of answer.headers)
    if (name !== "set-cookie" && !FRAMING.includes(name)) res.setHeader(name, value);
  const cookies = answer.headers.getSetCookie();
  const others = [res.getHeader("set-cookie") ?? []].flat().map(String);
  if (cookies.length > 0) res.setHeader("set-cookie", [...others, ...cookies]);
}

/** Waits while the client reads slowly. */
async function pour(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  res: ServerResponse,
  left: AbortSignal,
): Promise<void> {
  let goOn = () => {};
  const wake = () => goOn();
  res.on("drain", wake).on("close", wake); // once: behind `compression`, `off` has no effect
  res.flushHeaders();
  for (;;) {
    const { done, value } = await reader.read();
    if (done || left.aborted || res.writableEnded) return;
    const written: boolean | undefined = res.write(value); // undefined from many a wrapper
    if (written === false) {
      await new Promise<void>((resolve) => {
        goOn = resolve;
      });
    }
  }
}

/** Resolves also if the client left: it gets no end. */
function end(res: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    res.once("finish", resolve).once("close", resolve);
    res.end(); // without a callback: express-session and others take it for a chunk
  });
}
