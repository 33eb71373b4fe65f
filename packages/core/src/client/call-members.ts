import { multipart } from "./multipart.js";

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
  "dispatcher", // undici's own
] as const;

/**
 * Copies the members that the platform would read. If a `Request` is given as `init`, a spread would miss them. Headers
 * and bodies are copied too: the platform's `fetch` reads them before it returns, but ours may wait for a token or for
 * its turn first, and the caller may change them meanwhile.
 */
export function copyOfInit(init: RequestInit | undefined): RequestInit {
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

/**
 * A copy as every `fetch` takes it. Texts and blobs cannot change, and a stream can be read once only. A body is known
 * by its tag and not by its class: it may come from another realm, or from another copy of undici.
 */
function copyOfBody(body: Body): Body {
  if (ArrayBuffer.isView(body)) return new Uint8Array(body.buffer, body.byteOffset, body.byteLength).slice();
  switch (kindOf(body)) {
    case "URLSearchParams":
      return new URLSearchParams(String(body));
    case "ArrayBuffer":
      return new Uint8Array(body as ArrayBuffer).slice();
    case "FormData":
      return multipart(body as FormData);
    default:
      return body;
  }
}

/** `Object.prototype.toString` without its brackets: "FormData". */
function kindOf(value: unknown): string {
  return Object.prototype.toString.call(value).slice("[object ".length, -1);
}

/** Whether `init` has a body of its own, though it may be empty: it takes the place of a `Request`'s. */
export function hasBody({ body }: RequestInit): boolean {
  return body !== undefined && body !== null;
}

const VALUES: ReadonlySet<string> = new Set(["URLSearchParams", "Blob", "File"]);

/** A stream is gone once it was sent; every other kind of body is a value. */
export function isValue(body: unknown): boolean {
  if (typeof body !== "object" || body === null) return true;
  return ArrayBuffer.isView(body) || VALUES.has(kindOf(body));
}
