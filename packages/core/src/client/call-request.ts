import { hasBody } from "./call-members.js";

/** The platform's class as it was when this module was loaded: some libraries replace it later. */
const PlatformRequest = globalThis.Request;

/**
 * The caller's `Request`, known by what it can do: its class may be of another copy of undici, of another realm, or one
 * that a library puts into the platform's place (`@hono/node-server`).
 */
export function requestIn(input: unknown): Request | undefined {
  if (typeof input !== "object" || input === null) return undefined;
  const { url, method, headers, clone } = input as Partial<Request>;
  const isRequest = typeof url === "string" && typeof method === "string" && typeof clone === "function";
  return isRequest && typeof headers?.get === "function" ? (input as Request) : undefined;
}

/** The address that the platform's `fetch` would use. The `url` of a subclass may differ from it. */
export function addressOf(request: Request): string {
  const url = isPlatforms(request) && Object.getOwnPropertyDescriptor(PlatformRequest.prototype, "url")?.get;
  return url ? url.call(request) : request.url;
}

/**
 * Copies the caller's request as the platform would send it; a subclass may show other values in its properties.
 *
 * @param url its address, which was checked.
 * @throws {TypeError} its body was read before, or its address changes each time it is read.
 */
export function requestTo(url: string, given: Request, call: RequestInit): Request {
  // A body in `init` replaces the request's own, which may have been read. An empty text would set a content type.
  const replaced = hasBody(call) && { method: call.method ?? given.method, body: new Uint8Array() };
  const copy = isPlatforms(given)
    ? new PlatformRequest(given, replaced || undefined)
    : new PlatformRequest(url, { ...partsOf(given, !replaced), ...replaced });
  originals.set(copy, given);
  if (copy.url !== url) throw new TypeError("fetch was given a Request whose address changes");
  return copy;
}

export function copyOf(request: Request): Request {
  const copy = request.clone();
  originals.set(copy, request);
  return copy;
}

/** Keeps the original of each copied `Request` in memory: without it the copy no longer follows the caller's signal. */
const originals = new WeakMap<Request, Request>();

function isPlatforms(request: Request): boolean {
  return request instanceof PlatformRequest;
}

const PARTS = [
  "method",
  "signal",
  "redirect",
  "credentials",
  "referrerPolicy",
  "integrity",
  "keepalive",
] as const;

/** What the platform reads of a request that is not of its own class. */
function partsOf(given: Request, withBody: boolean): RequestInit {
  const { headers, body } = given;
  if (withBody && given.bodyUsed) throw new TypeError("fetch was given a Request whose body was read before");
  const parts: Record<string, unknown> = { headers: new Headers([...headers]) };
  for (const name of PARTS) {
    const value = given[name] ?? "";
    if (value !== "") parts[name] = value;
  }
  return withBody && hasBody({ body }) ? { ...parts, body, duplex: "half" as const } : parts;
}
