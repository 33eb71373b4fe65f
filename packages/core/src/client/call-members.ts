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
 * Copies the members that the platform would read. If a `Request` is given as `init`, a spread would miss them. Headers
 * and bodies are copied too: the platform's `fetch` reads them before it returns, but ours may wait for a token first,
 * and the caller may change them meanwhile.
 */
export function membersOf(init: RequestInit | undefined): RequestInit {
  const members: Record<string, unknown> = { ...init };
  for (const name of MEMBERS) {
    const value = (init as Record<string, unknown> | undefined)?.[name];
    if (value !== undefined && value !== null) members[name] = value;
  }
  const call: RequestInit = members;
  if (call.headers) call.headers = new Headers(call.headers);
  if (call.body) call.body = copyOfBody(call.body);
  return call;
}

type Body = NonNullable<RequestInit["body"]>;

/** Texts and blobs cannot change, and a stream can be read only once, so they are not copied. */
function copyOfBody(body: Body): Body {
  if (body instanceof URLSearchParams) return new URLSearchParams(body);
  if (body instanceof ArrayBuffer) return body.slice(0);
  if (ArrayBuffer.isView(body)) return new Uint8Array(body.buffer, body.byteOffset, body.byteLength).slice();
  if (!(body instanceof FormData)) return body;
  const copy = new FormData();
  for (const [name, value] of body) copy.append(name, value);
  return copy;
}

/** Whether `init` has a body, perhaps an empty one. It replaces the body of a `Request`. */
export function hasBody({ body }: RequestInit): boolean {
  return body !== undefined && body !== null;
}

/** Whether a body can be sent twice: every kind except a stream. */
export function isValue(body: unknown): boolean {
  if (typeof body !== "object" || body === null) return true;
  return (
    body instanceof URLSearchParams ||
    body instanceof FormData ||
    body instanceof Blob ||
    body instanceof ArrayBuffer ||
    ArrayBuffer.isView(body)
  );
}
