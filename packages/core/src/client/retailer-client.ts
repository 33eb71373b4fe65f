import { discard } from "../platform/fetch.js";
import { withoutSecrets } from "../secrets/errors-without-secrets.js";
import type { DomainPrefix } from "../vocabulary/domain-prefix.js";
import { RejectedByApiError } from "../vocabulary/errors.js";
import type { AccessToken } from "../vocabulary/token-set.js";
import type { TokenAsk, TokenSource } from "../vocabulary/token-source.js";
import { addressWithin } from "./call-address.js";
import { copyOfInit, hasBody, isValue } from "./call-members.js";
import { addressOf, copyOf, requestIn, requestTo } from "./call-request.js";

/** One retailer's API. The client adds the bearer to every call. */
export interface RetailerClient extends TokenSource {
  /** The retailer. */
  readonly domainPrefix: DomainPrefix;
  /** {base_url} of this retailer, without a trailing slash. */
  readonly baseUrl: string;
  /**
   * `fetch` with `Authorization: Bearer …` (4.4), which replaces an `Authorization` that the caller gave. A relative
   * input, with or without a leading slash, is appended to `baseUrl`. The client reads the arguments at once, as the
   * platform does. If the call is not sent, a body that is a stream is cancelled. For a body that is no stream, the
   * platform sets `Content-Length`.
   *
   * After a 401, the client renews the token and sends the call once more, unless its body is a stream. It returns the
   * 401 if another token would not help: the API also rejects tokens that were just issued, or the 401 came after a
   * redirect. If a `Request` has a body, a copy of it is in memory until the answer is there; for large uploads give
   * the stream as `init.body`.
   *
   * If `{domain_prefix}` is a segment of `baseUrl`'s path, the client returns a redirect and does not follow it,
   * because it may lead to another retailer.
   *
   * @throws {TypeError} the address is outside `baseUrl`, and nothing is sent; or the platform's own, if the network
   * fails.
   * @throws the errors of {@link TokenSource.token}, also of a renewal after a 401.
   * @throws the signal's reason, if the caller's own signal is aborted.
   */
  fetch(input: string | URL | Request, init?: RequestInit): Promise<Response>;
}

/** Settings that all clients of one application share. */
export interface RetailerClientOptions {
  fetch: typeof globalThis.fetch;
  /** Whether the source can renew a token after a 401. */
  renews: boolean;
  /** Whether all retailers have one origin, so that a redirect may lead to another retailer. */
  sharesOrigin: boolean;
}

/** @returns a function that makes one retailer's client. The functions of its source must not need `this`. */
export function retailerClients(
  options: RetailerClientOptions,
): (domainPrefix: DomainPrefix, baseUrl: string, source: TokenSource) => RetailerClient {
  const { renews } = options;
  return (domainPrefix, baseUrl, source) => {
    const { token } = source;
    const fetch: RetailerClient["fetch"] = (input, init) => fetchWithBearer(baseUrl, source, input, init);
    return { domainPrefix, baseUrl, token, fetch };
  };

  async function fetchWithBearer(
    baseUrl: string,
    source: TokenSource,
    input: string | URL | Request,
    init?: RequestInit,
  ): Promise<Response> {
    const call = copyOfInit(init);
    const given = requestIn(input);
    const signal = call.signal === undefined ? given?.signal : call.signal; // `null` removes the request's own
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
    renewal.catch(() => {}); // started even if this call cannot be sent again: the next one gets the new token
    if (!isResendable) return response;
    try {
      const renewed = await renewal;
      discard(response.body);
      return await send(spare ?? request ?? url, renewed);
    } catch (error) {
      discard(spare?.body);
      if (error instanceof RejectedByApiError) return response; // another token would not help
      discard(response.body);
      throw error;
    }

    /** Reads everything before the first wait, because the caller may change and reuse it meanwhile. */
    async function ready() {
      const url = addressWithin(baseUrl, given ? addressOf(given) : input, given !== undefined);
      request = given && requestTo(url, given, call);
      return { url, token: await source.token(ask) };
    }

    async function send(target: string | Request, { value }: AccessToken): Promise<Response> {
      const headers = new Headers(call.headers ?? request?.headers);
      headers.set("authorization", `Bearer ${value}`);
      // It may be the length of another body, and some platforms would then wait for ever for the rest.
      if (hasBody(call) && isValue(call.body)) headers.delete("content-length");
      const redirect = redirectOf(call.redirect ?? request?.redirect);
      try {
        return await options.fetch(target, { ...call, headers, ...(redirect && { redirect }) });
      } catch (error) {
        if (signal?.aborted && error === signal.reason) throw error;
        throw withoutSecrets(error, [value]); // some errors repeat the request with its headers
      }
    }
  }

  /** If retailers share an origin, a redirect could send one retailer's bearer to another's address (behaviour 12). */
  function redirectOf(asked: RequestInit["redirect"]): RequestInit["redirect"] {
    return options.sharesOrigin && asked !== "error" ? "manual" : asked;
  }
}

/** Whether the answer came after a redirect. Another host did not get the bearer, so its 401 is not about the token. */
function isRedirected(baseUrl: string, { redirected, url }: Response): boolean {
  return redirected || (url !== "" && new URL(url).origin !== new URL(baseUrl).origin);
}
