import { type Addresses, tokenUrl } from "./addresses.js";
import { within } from "./deadline.js";
import type { DomainPrefix } from "./domain-prefix.js";
import {
  ClientRefusedError,
  RateLimitedError,
  ReconnectRequiredError,
  type RetailPosError,
  TokenEndpointError,
  TokenResponseError,
} from "./errors.js";
import { parseRateLimit, type RateLimit, retryAtOf } from "./rate-limit.js";
import { redact } from "./secret-forms.js";
import { withoutSecrets } from "./secrets.js";
import { jsonObject, readTokenResponse, type TokenResponse } from "./token-response.js";

/** The token endpoint of every retailer (4.2, 4.3). It remembers nothing between two requests. */
export interface TokenEndpoint {
  /**
   * 4.2: trades a code. Sent once: a code is single-use, so a second try could only fail.
   *
   * @throws {TokenEndpointError} also when the code is refused (`error: "invalid_grant"`).
   */
  exchange(domainPrefix: DomainPrefix, code: string, extra?: ExchangeExtra): Promise<TokenAnswer>;
  /** 4.3. @throws {ReconnectRequiredError} when the service refuses the refresh token. */
  refresh(domainPrefix: DomainPrefix, refreshToken: string): Promise<TokenAnswer>;
}

/** A usable 2xx answer. */
export interface TokenAnswer {
  readonly response: TokenResponse;
  /** When the request was sent, epoch milliseconds. */
  readonly requestedAt: number;
  readonly rateLimit: RateLimit | undefined;
}

/** What a caller may add to one exchange. */
export interface ExchangeExtra {
  /** The `redirect_uri` of this login, where it differs from the configured one. https, or http on loopback. */
  redirectUri?: string | undefined;
  /** Further form parameters; the five of 4.2 cannot be replaced. */
  params?: Record<string, string>;
  /** May turn an error answer (neither 2xx nor 429) into an error of its own; `undefined` or `null`: ours is thrown. */
  parseErrorResponse?: (body: string, status: number) => Error | null | undefined;
}

export interface TokenEndpointOptions {
  addresses: Addresses;
  clientId: string;
  clientSecret: string;
  redirectUri: string | undefined;
  timeoutMs: number;
  userAgent: string;
  fetch: typeof globalThis.fetch;
  clock: () => number;
  /** Told of each code that the service refused. */
  onCodeRefused?: (domainPrefix: DomainPrefix) => void;
  /** Told of each request, once it is over. */
  onRequest?: (request: TokenRequest) => void;
  /** Told what each answer, good or bad, says of the rate limit (section 8). */
  onRateLimit?: (domainPrefix: DomainPrefix, rateLimit: RateLimit) => void;
}

/** One request, and what became of it. */
export interface TokenRequest {
  readonly domainPrefix: DomainPrefix;
  readonly grant: GrantType;
  /** When it was sent, epoch milliseconds by the real clock. */
  readonly startedAt: number;
  /** How long it took with its body, milliseconds by the real clock. */
  readonly tookMs: number;
  /** The HTTP status, if there was an answer. */
  readonly status?: number;
  /** Why there is no usable answer. */
  readonly error?: unknown;
}

/** `grant_type` (4.2, 4.3). */
export type GrantType = "authorization_code" | "refresh_token";

/** What one request is about: enough to speak of it without showing a secret. */
interface Grant {
  type: GrantType;
  domainPrefix: DomainPrefix;
  form: Record<string, string>;
  secrets: string[];
  refused: (status: number, errorDescription: string | undefined) => RetailPosError;
  parseErrorResponse?: ExchangeExtra["parseErrorResponse"];
}

interface Answer {
  status: number;
  headers: Headers;
  /** `undefined` when it is longer than {@link LONGEST_BODY}. */
  body: string | undefined;
  redirected: boolean;
}

const LONGEST_BODY = 1024 * 1024;

export function tokenEndpoint(options: TokenEndpointOptions): TokenEndpoint {
  const { clientId, clientSecret, clock } = options;

  return {
    exchange(domainPrefix, code, { redirectUri = options.redirectUri, params, parseErrorResponse } = {}) {
      const form = {
        ...params,
        grant_type: "authorization_code",
        code,
        ...(redirectUri !== undefined && { redirect_uri: redirectUri }),
      };
      const refused = (status: number, errorDescription: string | undefined) => {
        options.onCodeRefused?.(domainPrefix);
        return new TokenEndpointError(
          `The service refused the code of retailer "${domainPrefix}": expired after 10 minutes, already used, or ` +
            "made for another address. Start again with the login",
          { domainPrefix, status: 403, endpointStatus: status, error: "invalid_grant", errorDescription },
        );
      };
      const type = "authorization_code";
      return request({
        type,
        domainPrefix,
        form,
        secrets: [code, clientSecret],
        refused,
        parseErrorResponse,
      });
    },
    refresh(domainPrefix, refreshToken) {
      const form = { grant_type: "refresh_token", refresh_token: refreshToken };
      const refused = () =>
        new ReconnectRequiredError(
          `The service refused the refresh token of retailer "${domainPrefix}"; log in with the store again`,
          { domainPrefix },
        );
      const type = "refresh_token";
      return request({ type, domainPrefix, form, secrets: [refreshToken, clientSecret], refused });
    },
  };

  /** Each request is told once, with what became of it. */
  async function request(grant: Grant): Promise<TokenAnswer> {
    const startedAt = Date.now();
    const beganAt = performance.now();
    let status: number | undefined;
    const told = (error?: unknown) =>
      options.onRequest?.({
        domainPrefix: grant.domainPrefix,
        grant: grant.type,
        startedAt,
        tookMs: performance.now() - beganAt,
        ...(status !== undefined && { status }),
        ...(error !== undefined && { error }),
      });
    try {
      const answer = await ask(grant, (answered) => {
        status = answered;
      });
      told();
      return answer;
    } catch (error) {
      told(error);
      throw error;
    }
  }

  async function ask(grant: Grant, answered: (status: number) => void): Promise<TokenAnswer> {
    const requestedAt = clock();
    const answer = await send(grant);
    answered(answer.status);
    const rateLimit = parseRateLimit(answer.headers);
    if (rateLimit) options.onRateLimit?.(grant.domainPrefix, rateLimit);
    if (answer.status === 429) {
      const now = clock();
      throw new RateLimitedError(retryAtOf(rateLimit, now), now, rateLimit, grant);
    }
    if (answer.redirected || answer.status < 200 || answer.status > 299) throw failureOf(answer, grant);
    return { response: usable(answer, grant, requestedAt), requestedAt, rateLimit };
  }

  /** One POST, one deadline over headers and body, redirects not followed (their target would get the secret). */
  async function send({ domainPrefix, form, secrets }: Grant): Promise<Answer> {
    try {
      return await withDeadline(options.timeoutMs, async (signal) => {
        const response = await options.fetch(tokenUrl(options.addresses.baseUrl(domainPrefix)), {
          method: "POST",
          headers: {
            accept: "application/json",
            "content-type": "application/x-www-form-urlencoded",
            "user-agent": options.userAgent,
          },
          body: new URLSearchParams({ ...form, client_id: clientId, client_secret: clientSecret }).toString(),
          redirect: "manual",
          signal,
        });
        const { status, headers, redirected, type } = response;
        if (!Number.isInteger(status) || !headers) throw new TypeError("fetch gave no response");
        const body = await bodyOf(response);
        return { status, headers, body, redirected: redirected || type === "opaqueredirect" };
      });
    } catch (error) {
      const why =
        error instanceof DeadlinePassed ? `no answer within ${options.timeoutMs} ms` : "the network failed";
      throw new TokenEndpointError(
        `The token endpoint of retailer "${domainPrefix}" could not be used: ${why}`,
        {
          domainPrefix,
          cause: withoutSecrets(error, secrets),
        },
      );
    }
  }
}

/** What an answer means that is neither 2xx nor 429 (behaviour 8; RFC 6749, section 5.2). */
function failureOf(answer: Answer, grant: Grant): Error {
  const ours = ourErrorFor(answer, grant); // made in any case: a refused code has to be noted
  const own = grant.parseErrorResponse?.(answer.body ?? "", answer.status);
  return own ? (withoutSecrets(own, grant.secrets) as Error) : ours; // the body may repeat what was sent
}

function ourErrorFor(
  { status, redirected, body = "" }: Answer,
  { domainPrefix, secrets, refused }: Grant,
): Error {
  const { error: code, error_description: description } = jsonObject(body) ?? {};
  if (status === 400 || status === 401) {
    // Decided on the service's own word; what is shown of it is cleaned below.
    if (code === "invalid_client" || code === "unauthorized_client") {
      return new ClientRefusedError(code, { domainPrefix });
    }
    if (!HARMLESS_TO_THE_GRANT.has(code)) return refused(status, plainText(description ?? code, secrets));
  }
  const what = redirected || (status >= 300 && status < 400) ? "a redirect, which is not followed" : status;
  return new TokenEndpointError(`The token endpoint of retailer "${domainPrefix}" answered ${what}`, {
    domainPrefix,
    endpointStatus: status,
    error: HARMLESS_TO_THE_GRANT.has(code) ? String(code) : plainText(code, secrets),
    errorDescription: plainText(description, secrets),
  });
}

/** OAuth errors that say nothing against the code or the refresh token (RFC 6749, sections 4.1.2.1 and 5.2). */
const HARMLESS_TO_THE_GRANT: ReadonlySet<unknown> = new Set([
  "access_denied",
  "invalid_request",
  "invalid_scope",
  "unsupported_grant_type",
  "unsupported_response_type",
  "server_error",
  "temporarily_unavailable",
]);

function usable(
  { status, body }: Answer,
  { domainPrefix, secrets }: Grant,
  requestedAt: number,
): TokenResponse {
  const refuse = (problem: string) =>
    new TokenResponseError(
      `The token endpoint of retailer "${domainPrefix}" answered ${status}, but ${problem}`,
      {
        domainPrefix,
      },
    );
  if (body === undefined) throw refuse("its body is longer than 1 MiB");
  const response = readTokenResponse(body, domainPrefix, requestedAt);
  if (!response) throw refuse("its body is no JSON object");
  if (response.otherRetailer) throw refuse("its domain_prefix names another retailer; nothing of it is used");
  if (!response.access && !response.refreshToken) throw refuse("it holds no usable access_token");
  return withoutSecretScope(response, secrets);
}

/** Shorter ones are found in many a word, and are no secrets of a service. */
const SHORTEST_SECRET = 6;

/** The scope is stored as it is and shown to operators: one that repeats a secret is no scope. */
function withoutSecretScope(response: TokenResponse, secrets: readonly string[]): TokenResponse {
  const { scope, ...rest } = response;
  const all = [...secrets, response.access?.value ?? "", response.refreshToken ?? ""];
  const long = all.filter(({ length }) => length >= SHORTEST_SECRET);
  return scope === undefined || redact(scope, long) === scope ? response : rest;
}

/** The service's own words, fit for a log line: short, printable, and without anything secret. */
function plainText(value: unknown, secrets: readonly string[]): string | undefined {
  if (typeof value !== "string" || value === "") return undefined;
  return redact(value, secrets)
    .replace(/[^\x20-\x7e]+/g, " ")
    .slice(0, 200);
}

function bodyOf(response: Response): string | Promise<string | undefined> {
  if (!response.body) return "";
  if (response.status === 429) {
    response.body.cancel().catch(() => {}); // the headers say it all, even if the body never comes
    return "";
  }
  // In one piece: a stream costs more.
  return isShort(response.headers) ? response.text() : longBodyOf(chunksOf(response.body));
}

/** Reads at most {@link LONGEST_BODY} bytes. */
async function longBodyOf(body: AsyncIterable<Uint8Array>): Promise<string | undefined> {
  const decoder = new TextDecoder();
  let [text, length] = ["", 0];
  for await (const chunk of body) {
    length += chunk.byteLength;
    if (length > LONGEST_BODY) return undefined; // leaving the loop cancels the rest
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/** Some platforms' streams cannot be iterated, and some fetches give Node's streams, which have no reader. */
async function* chunksOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  if (Symbol.asyncIterator in body) return yield* body;
  const reader = (body as ReadableStream<Uint8Array>).getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** Whether it says that it is short, and is not packed: what is packed can be any size. */
function isShort(headers: Headers): boolean {
  const length = headers.get("content-length") ?? "";
  return /^\d+$/.test(length) && Number(length) <= LONGEST_BODY && !headers.has("content-encoding");
}

class DeadlinePassed extends Error {}

/** Aborts the work at the deadline, and does not wait for work that ignores the signal. */
function withDeadline<T>(timeoutMs: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  return within(timeoutMs, work(controller.signal), () => {
    const reason = new DeadlinePassed(`timed out after ${timeoutMs} ms`);
    controller.abort(reason);
    return reason;
  });
}
