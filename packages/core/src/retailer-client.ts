import type { DomainPrefix } from "./domain-prefix.js";
import { RejectedByApiError } from "./errors.js";
import type { AccessToken } from "./token-set.js";
import type { TokenAsk, TokenSource } from "./token-source.js";

/** One retailer's API with the bearer put on every call. */
export interface RetailerClient extends TokenSource {
  /** Which retailer. */
  readonly domainPrefix: DomainPrefix;
  /** {base_url} of this retailer, without a trailing slash. */
  readonly baseUrl: string;
  /**
   * `fetch` with `Authorization: Bearer …` (4.4), whatever `Authorization` the caller gave. A relative
   * input, with or without a leading slash, is appended to `baseUrl`. A 401 is answered by one retry with
   * a renewed token, where the body can be sent again: a stream cannot. It is returned where another token
   * would not help: the API rejects those just issued too. Of a `Request` with a body a copy is
   * kept in memory until the answer is there; for large uploads give the stream as `init.body`.
   *
   * @throws {TypeError} for an address outside `baseUrl`; nothing is sent.
   * @throws what {@link TokenSource.token} throws, also when a 401 shows that the token has to be renewed.
   */
  fetch(input: string | URL | Request, init?: RequestInit): Promise<Response>;
}

export interface RetailerClientOptions {
  domainPrefix: DomainPrefix;
  baseUrl: string;
  /** Its functions need no `this`. */
  source: TokenSource;
  fetch: typeof globalThis.fetch;
  /** Whether a 401 can be mended by a new token. */
  renews: boolean;
}

export function retailerClient(options: RetailerClientOptions): RetailerClient {
  const { domainPrefix, baseUrl, source, renews } = options;
  return { domainPrefix, baseUrl, ...source, fetch: fetchWithBearer };

  async function fetchWithBearer(input: string | URL | Request, given?: RequestInit): Promise<Response> {
    const init = given ?? {};
    const url = addressWithin(baseUrl, input);
    const request = input instanceof Request ? input : undefined;
    const signal = init.signal ?? request?.signal;
    const ask: TokenAsk = signal ? { signal } : {};
    const isResendable = canBeSentAgain(init.body) && (request === undefined || !request.bodyUsed);
    const token = await source.token(ask);
    const spare = renews && isResendable && request?.body && !init.body ? request.clone() : undefined;
    const response = await send(request ?? url, token);
    if (!renews || response.status !== 401 || !isFrom(baseUrl, response)) {
      discard(spare?.body);
      return response;
    }
    const renewal = source.token({ ...ask, rejected: token.value });
    renewal.catch(() => {}); // where the call cannot be sent again, the next one finds a good token
    if (!isResendable) return response;
    try {
      const renewed = await renewal;
      discard(response.body);
      return send(spare ?? request ?? url, renewed);
    } catch (error) {
      discard(spare?.body);
      if (error instanceof RejectedByApiError) return response; // it is about the call, not about the token
      discard(response.body);
      throw error;
    }

    function send(target: string | Request, { value }: AccessToken): Promise<Response> {
      const headers = new Headers(init.headers ?? request?.headers);
      headers.set("authorization", `Bearer ${value}`);
      return options.fetch(target, { ...init, headers });
    }
  }
}

/** Frees what nobody will read, and does not wait for it. */
function discard(body: ReadableStream | null | undefined): void {
  body?.cancel().catch(() => {});
}

/** A stream is gone once it was sent; every other kind of body is a value. */
function canBeSentAgain(body: unknown): boolean {
  if (typeof body !== "object" || body === null) return true;
  return (
    body instanceof URLSearchParams ||
    body instanceof FormData ||
    body instanceof Blob ||
    body instanceof ArrayBuffer ||
    ArrayBuffer.isView(body)
  );
}

/** A redirect may have led to another host, which never saw the bearer; its 401 says nothing about the token. */
function isFrom(baseUrl: string, { url }: Response): boolean {
  return url === "" || new URL(url).origin === new URL(baseUrl).origin;
}

/**
 * The address of a call, which may not leave `baseUrl`: the bearer would go along (behaviour 12).
 *
 * @throws {TypeError}
 */
export function addressWithin(baseUrl: string, input: string | URL | Request): string {
  const text = input instanceof Request ? input.url : String(input);
  const isRelative = typeof input === "string" && !/^\s*[a-z][a-z0-9+.-]*:/i.test(input);
  const path = text.split(/[?#]/, 1)[0] ?? "";
  // Control characters and backslashes mean one thing to a reader and another to a URL parser.
  if (/[\p{Cc}\\]/u.test(path)) throw outside("contains a backslash or a control character");
  if (isRelative && path.startsWith("//")) throw outside("names another host");

  const target = isRelative ? `${baseUrl}/${text.replace(/^\//, "")}` : text;
  if (!URL.canParse(target)) throw outside("is no URL");
  const [base, url] = [new URL(baseUrl), new URL(target)];
  if (url.origin !== base.origin || url.username || url.password) throw outside("is of another origin");
  const root = base.pathname.replace(/\/$/, "");
  const isBelow = `${url.pathname}/`.startsWith(`${root}/`);
  // As it was given, and as the URL parser left it: it takes "a%2fb/.." away as one segment.
  if (!isBelow || climbsOut(url.pathname.slice(root.length)) || (isRelative && climbsOut(path)))
    throw outside("climbs out of baseUrl");
  return url.href;

  function outside(why: string): TypeError {
    return new TypeError(`fetch stays within ${baseUrl}; the given address ${why}`);
  }
}

/** Whether `..` outweighs the segments before it, also in the encoded forms some servers decode. */
function climbsOut(path: string): boolean {
  let depth = 0;
  for (const segment of decoded(path).split(/[/\\]/)) {
    if (segment === "..") depth -= 1;
    else if (segment !== "" && segment !== ".") depth += 1;
    if (depth < 0) return true;
  }
  return false;
}

function decoded(path: string): string {
  return path.replace(/%(2e|2f|5c)/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}
