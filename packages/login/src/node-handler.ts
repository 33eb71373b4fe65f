import type { IncomingMessage, ServerResponse } from "node:http";

/** Any handler from `Request` to `Response`. */
export type WebHandler = (request: Request) => Response | Promise<Response>;

/** How {@link nodeHandler} ends what went wrong. */
export interface NodeHandlerOptions {
  /**
   * Answers an error of the handler, while nothing is sent. Without it the returned promise rejects, so that Express,
   * Koa and Fastify answer; on `node:http` alone give it, or add `.catch`.
   */
  onError?: ((error: unknown, res: ServerResponse) => void) | undefined;
}

/** What `Request` refuses to be. */
const FORBIDDEN_METHODS = ["CONNECT", "TRACE", "TRACK"];

/**
 * A web handler on Node's own request and response: `node:http`, Express, Koa, Fastify, Next's pages.
 *
 * @returns resolves when the answer is sent. Rejects with the handler's error while nothing is sent; after that it ends
 * the connection and resolves.
 */
export function nodeHandler(
  handler: WebHandler,
  { onError }: NodeHandlerOptions = {},
): (req: IncomingMessage, res: ServerResponse) => Promise<void> {
  if (typeof handler !== "function") throw new TypeError("handler must be a function");
  return async (req, res) => {
    try {
      await send(await answerOf(handler, req), req, res);
    } catch (error) {
      if (res.headersSent || res.destroyed) return void res.destroy();
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

/** `undefined` if the request's address or headers are none. */
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

/** A router may have cut `url`. The host is what the client says: good for nothing but reading path and query. */
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
    if (!name.startsWith(":")) headers.append(name, value); // HTTP/2 has its own beside them
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
  res.flushHeaders();
  if (answer.body && req.method !== "HEAD") await pour(answer.body, res);
  if (res.destroyed || res.closed) return; // nobody is there any more
  await new Promise<void>((resolve) => {
    res.once("close", resolve); // a client that leaves meanwhile gets no end
    res.end(() => resolve());
  });
}

/** Waits for whoever reads slowly, and stops when they are gone. */
async function pour(body: ReadableStream<Uint8Array>, res: ServerResponse): Promise<void> {
  for await (const chunk of body) {
    if (res.destroyed) return;
    if (res.write(chunk)) continue;
    await new Promise<void>((resolve) => {
      const go = () => {
        res.off("drain", go).off("close", go);
        resolve();
      };
      res.once("drain", go).once("close", go);
    });
  }
}
