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
 * The members that the platform would read: a `Request` may be given as `init`, and a spread misses its members. What
 * the caller may change and use again is copied, for `fetch` reads it before it returns, and ours has to wait first.
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

/** Texts and blobs cannot change, and a stream can be read once only. */
function copyOfBody(body: Body): Body {
  if (body instanceof URLSearchParams) return new URLSearchParams(body);
  if (body instanceof ArrayBuffer) return body.slice(0);
  if (ArrayBuffer.isView(body)) return new Uint8Array(body.buffer, body.byteOffset, body.byteLength).slice();
  if (!(body instanceof FormData)) return body;
  const copy = new FormData();
  for (const [name, value] of body) copy.append(name, value);
  return copy;
}

/** Whether `init` has a body of its own, though it may be empty: it takes the place of a `Request`'s. */
export function hasBody({ body }: RequestInit): boolean {
  return body !== undefined && body !== null;
}

/** A stream is gone once it was sent; every other kind of body is a value. */
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
