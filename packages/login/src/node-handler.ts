import type { IncomingMessage, ServerResponse } from "node:http";
import { refuseMisspelt } from "@retail-pos/core";

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

/** Methods that `Request` refuses. */
const FORBIDDEN_METHODS = ["CONNECT", "TRACE", "TRACK"];

/**
 * A web handler on Node's own request and response: `node:http`, Express, Koa, Fastify, Next's pages.
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
    try {
      await send(await answerOf(handler, req), req, res);
    } catch (error) {
      if (res.headersSent) return void res.destroy();
      if (!onError) throw error;
      onError(error, res);
    }
  };
}

async function answerOf(handler: WebHandler, req: IncomingMessage): Promise<Response> {
  if (FORBIDDEN_METHODS.includes(req.method ?? ""))
    return new Response(null, { status: 405, headers: { allow: "GET" } });
  const request = requestOf(req);
  return request ? handler(request) : new Response("The request cannot be read\n", { status: 400 });
}

/** The web's `Request`; `undefined` if the address or the headers cannot be those of one. */
function requestOf(req: IncomingMessage): Request | undefined {
  const hasBody = req.method !== "GET" && req.method !== "HEAD" && !req.readableEnded;
  const body = hasBody && { body: ReadableStream.from(req), duplex: "half" };
  try {
    return new Request(addressOf(req), {
      method: req.method ?? "GET",
      headers: headersOf(req),
      ...body,
    } as RequestInit);
  } catch {
    return undefined;
  }
}

/** A router may have cut `url`. The host is the client's word: use the path and the query of this only. */
function addressOf(req: IncomingMessage & { originalUrl?: string }): string {
  const url = req.originalUrl ?? req.url ?? "/";
  const isTls = (req.socket as { encrypted?: boolean } | undefined)?.encrypted === true;
  const origin = `${isTls ? "https" : "http"}://${req.headers.host ?? "localhost"}`;
  return `${URL.canParse(origin) ? origin : "http://localhost"}${url.startsWith("/") ? url : "/"}`;
}

function headersOf({ rawHeaders }: IncomingMessage): Headers {
  const headers = new Headers();
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const [name = "", value = ""] = rawHeaders.slice(index, index + 2);
    if (!name.startsWith(":")) headers.append(name, value); // HTTP/2's pseudo headers
  }
  return headers;
}

async function send(answer: Response, req: IncomingMessage, res: ServerResponse): Promise<void> {
  res.statusCode = answer.status;
  if (answer.statusText && req.httpVersionMajor < 2) res.statusMessage = answer.statusText;
  for (const [name, value] of answer.headers) if (name !== "set-cookie") res.setHeader(name, value);
  const cookies = answer.headers.getSetCookie();
  const others = [res.getHeader("set-cookie") ?? []].flat().map(String);
  if (cookies.length > 0) res.setHeader("set-cookie", [...others, ...cookies]);
  if (answer.body && req.method !== "HEAD") {
    res.flushHeaders();
    await pour(answer.body, res);
  }
  if (res.destroyed || res.closed) return; // the client has gone
  await new Promise<void>((resolve) => {
    res.once("finish", resolve).once("close", resolve); // a client that has left gets no end
    res.end(); // without a callback: express-session and others take it for a chunk
  });
}

/** Waits while the client reads slowly. When it has gone, the body is cancelled, though it may be quiet for hours. */
async function pour(body: ReadableStream<Uint8Array>, res: ServerResponse): Promise<void> {
  const reader = body.getReader();
  const gone = () => void reader.cancel().catch(() => {});
  res.once("close", gone);
  if (res.destroyed) gone(); // before this could be told
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done || res.destroyed) return;
      if (!res.write(value)) await drained(res);
    }
  } finally {
    res.off("close", gone);
    gone(); // nothing is left of a body that was read to its end
  }
}

function drained(res: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const go = () => {
      res.off("drain", go).off("close", go);
      resolve();
    };
    res.once("drain", go).once("close", go);
  });
}
