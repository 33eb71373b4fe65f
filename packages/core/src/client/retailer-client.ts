import { discard } from "../platform/fetch.js";
import { withoutSecrets } from "../secrets/errors-without-secrets.js";
import type { DomainPrefix } from "../vocabulary/domain-prefix.js";
import { RejectedByApiError } from "../vocabulary/errors.js";
import type { AccessToken } from "../vocabulary/token-set.js";
import type { TokenAsk, TokenSource } from "../vocabulary/token-source.js";
import { addressWithin } from "./call-address.js";
import { hasBody, isValue, membersOf } from "./call-members.js";

/** One retailer's API with the bearer put on every call. */
export interface RetailerClient extends TokenSource {
  /** Which retailer. */
  readonly domainPrefix: DomainPrefix;
  /** {base_url} of this retailer, without a trailing slash. */
  readonly baseUrl: string;
  /**
   * `fetch` with `Authorization: Bearer …` (4.4), in place of any `Authorization` that the caller gave. A relative
   * input, with or without a leading slash, is appended to `baseUrl`. What is given is read at once, as the platform
   * reads it. If the call is not sent, a body that is a stream is cancelled. A `Content-Length` beside a body that is
   * no stream is left to the platform.
   *
   * A 401 is answered by one retry with a renewed token, if the body can be sent again: a stream cannot. The 401 is
   * returned if another token would not help: the API rejects tokens that were just issued too, or the 401 came by way
   * of a redirect. If a `Request` has a body, a copy of it is kept in memory until the answer is there; for large
   * uploads give the stream as `init.body`.
   *
   * If `{domain_prefix}` is a segment of `baseUrl`'s path, a redirect is returned and not followed, because it may lead
   * to another retailer.
   *
   * @throws {TypeError} the address is outside `baseUrl`, and nothing is sent; or the platform's own, if the network
   * fails.
   * @throws the errors of {@link TokenSource.token}, also if a 401 shows that the token has to be renewed.
   * @throws the signal's reason, if the caller's own signal is aborted.
   */
  fetch(input: string | URL | Request, init?: RequestInit): Promise<Response>;
}

/** Settings that all clients of one application share. */
export interface RetailerClientOptions {
  fetch: typeof globalThis.fetch;
  /** Whether a 401 can be mended by a new token. */
  renews: boolean;
  /** Whether other retailers have their addresses below the same origin, so that a redirect may lead to one. */
  sharesOrigin: boolean;
}

/** @returns makes one retailer's client; the functions of its source need no `this`. */
export function retailerClients(
  options: RetailerClientOptions,
): (domainPrefix: DomainPrefix, baseUrl: string, source: TokenSource) => RetailerClient {
  const { renews } = options;
  return (domainPrefix, baseUrl, source) => {
    const { token, tokenNow } = source;
    const fetch: RetailerClient["fetch"] = (input, init) => fetchWithBearer(baseUrl, source, input, init);
    return { domainPrefix, baseUrl, token, ...(tokenNow && { tokenNow }), fetch };
  };

  async function fetchWithBearer(
    baseUrl: string,
    source: TokenSource,
    input: string | URL | Request,
    init?: RequestInit,
  ): Promise<Response> {
    const call = membersOf(init);
    const given = input instanceof Request ? input : undefined;
    const signal = call.signal === undefined ? given?.signal : call.signal; // null frees it of the request's own
    const ask: TokenAsk = signal ? { signal } : {};
    const isResendable = isValue(call.body) && !given?.bodyUsed;
    let request: Request | undefined;
    const { url, token } = await ready().catch((error) => {
      discard(hasBody(call) ? call.body : (request ?? given)?.body);
      throw error;
    });
    const spare = renews && isResendable && request?.body && !hasBody(call) ? copyOf(request) : undefined;
    const response = await send(request ?? url, token).catch((error) => {
      discard(spare?.body);
      throw error;
    });
    if (!renews || response.status !== 401 || isRedirected(baseUrl, response)) {
      discard(spare?.body);
      return response;
    }
    const renewal = source.token({ ...ask, rejected: token.value });
    renewal.catch(() => {}); // not lost if this call cannot be sent again: the next one finds a good token
    if (!isResendable) return response;
    try {
      const renewed = await renewal;
      discard(response.body);
      return await send(spare ?? request ?? url, renewed);
    } catch (error) {
      discard(spare?.body);
      if (error instanceof RejectedByApiError) return response; // it is about the call, not about the token
      discard(response.body);
      throw error;
    }

    /** Everything is read before the first wait: the caller may change it, and use it again. */
    async function ready() {
      const url = addressWithin(baseUrl, input);
      request = given && requestTo(url, given, call);
      return { url, token: await source.token(ask) };
    }

    async function send(target: string | Request, { value }: AccessToken): Promise<Response> {
      const headers = new Headers(call.headers ?? request?.headers);
      headers.set("authorization", `Bearer ${value}`);
      // It may be that of another body, and some platforms then wait for ever for the rest.
      if (hasBody(call) && isValue(call.body)) headers.delete("content-length");
      const redirect = redirectOf(call.redirect ?? request?.redirect);
      try {
        return await options.fetch(target, { ...call, headers, ...(redirect && { redirect }) });
      } catch (error) {
        if (signal?.aborted && error === signal.reason) throw error; // the caller's own
        throw withoutSecrets(error, [value]); // some repeat the request that failed, with its headers
      }
    }
  }

  /** Behaviour 12: below an origin that retailers share, the bearer of one would go to the address of another. */
  function redirectOf(asked: RequestInit["redirect"]): RequestInit["redirect"] {
    return options.sharesOrigin && asked !== "error" ? "manual" : asked;
  }
}

/**
 * A copy of the caller's request as the platform would send it. Its properties may say something else.
 *
 * @throws {TypeError} its body was read before; or its address changes from one look to the next.
 */
function requestTo(url: string, given: Request, call: RequestInit): Request {
  // A body in `init` takes the place of the request's own, which may be gone. No bytes: a text would bring its type.
  const copy = hasBody(call)
    ? new Request(given, { method: call.method ?? given.method, body: new Uint8Array() })
    : new Request(given);
  originals.set(copy, given);
  if (copy.url !== url) throw new TypeError("fetch was given a Request whose address changes");
  return copy;
}

/** A copied `Request` follows the caller's signal only while the original is there. So the copy keeps the original. */
const originals = new WeakMap<Request, Request>();

function copyOf(request: Request): Request {
  const copy = request.clone();
  originals.set(copy, request);
  return copy;
}

/** A redirect may have led to another host, which never saw the bearer; its 401 says nothing about the token. */
function isRedirected(baseUrl: string, { redirected, url }: Response): boolean {
  return redirected || (url !== "" && new URL(url).origin !== new URL(baseUrl).origin);
}
