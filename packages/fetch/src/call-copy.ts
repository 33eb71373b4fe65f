/** What the platform reads of the options. A spread misses the members of a `Request` that stands in their place. */
const MEMBERS = [
  "method",
  "headers",
  "body",
  "signal",
  "redirect",
  "cache",
  "credentials",
  "mode",
  "referrer",
  "referrerPolicy",
  "integrity",
  "keepalive",
  "duplex",
] as const;

/**
 * `fetch` reads what it is given before it returns, so callers may change and use it again. A call that waits is sent
 * later, and needs copies. A `Request` with a body is the one thing that cannot be copied without using it up.
 */
export function copyOfInput(input: string | URL | Request): string | URL | Request {
  if (input instanceof URL) return new URL(input);
  return input instanceof Request && input.body === null ? new Request(input) : input;
}

/** The same for the options. A `Request` may stand there, whose members are not its own. */
export function copyOfInit(init: RequestInit | undefined): RequestInit | undefined {
  if (!init) return undefined;
  const members: Record<string, unknown> = { ...init };
  if (Object.getPrototypeOf(init) !== Object.prototype) {
    for (const name of MEMBERS) {
      const value = (init as Record<string, unknown>)[name];
      if (value !== undefined && value !== null) members[name] = value;
    }
  }
  const copy: RequestInit = members;
  if (copy.headers) copy.headers = copyOfHeaders(copy.headers);
  if (copy.body) copy.body = copyOfBody(copy.body);
  return copy;
}

/**
 * The headers of a call without a `Content-Length`, if it has a body that is no stream: `fetch` counts that itself. A
 * smaller number, left from another body, makes some platforms wait for ever for the rest of an answer.
 */
export function withoutLength(
  input: string | URL | Request,
  init: RequestInit | undefined,
): RequestInit | undefined {
  const body: unknown = init?.body;
  if (body === undefined || body === null || body instanceof ReadableStream || isIterable(body)) return init;
  const given = init?.headers ?? (input instanceof Request ? input.headers : undefined);
  if (!given || !new Headers(given).has("content-length")) return init;
  const headers = new Headers(given);
  headers.delete("content-length");
  return { ...init, headers };
}

/** Node's streams, and generators. */
function isIterable(body: unknown): boolean {
  return typeof body === "object" && body !== null && Symbol.asyncIterator in body;
}

type HeadersInit = NonNullable<RequestInit["headers"]>;
type BodyInit = NonNullable<RequestInit["body"]>;

/** What is no headers stays what it is: `fetch` says so itself. */
function copyOfHeaders(headers: HeadersInit): HeadersInit {
  if (typeof headers !== "object") return headers;
  if (headers instanceof Headers) return new Headers(headers);
  if (!(Symbol.iterator in headers)) return { ...headers };
  return [...headers].map((pair) => (Array.isArray(pair) ? [...pair] : pair) as [string, string]);
}

/** Texts and blobs cannot change, and a stream can be read once only. */
function copyOfBody(body: BodyInit): BodyInit {
  if (body instanceof URLSearchParams) return new URLSearchParams(body);
  if (body instanceof ArrayBuffer) return body.slice(0);
  if (ArrayBuffer.isView(body)) return new Uint8Array(body.buffer, body.byteOffset, body.byteLength).slice();
  if (!(body instanceof FormData)) return body;
  const copy = new FormData();
  for (const [name, value] of body) copy.append(name, value);
  return copy;
}
