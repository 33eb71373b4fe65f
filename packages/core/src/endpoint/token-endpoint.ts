import type { DomainPrefix } from "../vocabulary/domain-prefix.js";
import { RateLimitedError } from "../vocabulary/errors.js";
import { parseRateLimit, type RateLimit, retryAtOf } from "../vocabulary/rate-limit.js";
import { failureOf, usableResponse } from "./token-answer-check.js";
import {
  type ExchangeExtra,
  type Grant,
  type GrantOptions,
  type GrantType,
  tokenGrants,
} from "./token-grants.js";
import { type Answer, type PostOptions, post } from "./token-post.js";
import type { TokenResponse } from "./token-response.js";

/** The token endpoint of every retailer (4.2, 4.3). It remembers nothing between two requests. */
export interface TokenEndpoint {
  /**
   * 4.2: trades a code. Sent once: a code is single-use, so a second try could only fail.
   *
   * @throws {TokenEndpointError} also when the code is refused (`error: "invalid_grant"`).
   */
  exchange(domainPrefix: DomainPrefix, code: string, extra?: ExchangeExtra): Promise<TokenAnswer>;
  /**
   * 4.3.
   *
   * @param late given what may still come, if there is no answer in time: tokens, for the service has ended the old
   * refresh token by then (R4); or a 429, which holds whenever it comes.
   * @throws {ReconnectRequiredError} when the service refuses the refresh token.
   */
  refresh(domainPrefix: DomainPrefix, refreshToken: string, late?: Late): Promise<TokenAnswer>;
}

/** What comes after the deadline; `undefined` if nothing does, or nothing of use. Never rejects. */
export type Coming = Promise<TokenAnswer | RateLimitedError | undefined>;

/** Whoever keeps what comes after the deadline. */
export type Late = (coming: Coming) => void;

/** A usable 2xx answer. */
export interface TokenAnswer {
  readonly response: TokenResponse;
  /** When the request was sent, epoch milliseconds. */
  readonly requestedAt: number;
  /** The same instant as `performance.now()` says it: no clock that is set changes what is measured from it. */
  readonly beganAt: number;
  readonly rateLimit: RateLimit | undefined;
}

/** When a request was sent, by both clocks. */
type Sent = Pick<TokenAnswer, "requestedAt" | "beganAt">;

export interface TokenEndpointOptions extends GrantOptions, PostOptions {
  clock: () => number;
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

export function tokenEndpoint(options: TokenEndpointOptions): TokenEndpoint {
  const { clock, onRequest, onRateLimit } = options;
  const grants = tokenGrants(options);

  return {
    exchange: (domainPrefix, code, extra) => request(grants.code(domainPrefix, code, extra)),
    refresh: (domainPrefix, refreshToken, late) => request(grants.refresh(domainPrefix, refreshToken), late),
  };

  /** Each request is told once, with what became of it. */
  async function request(grant: Grant, late?: Late): Promise<TokenAnswer> {
    const startedAt = Date.now();
    const beganAt = performance.now();
    let status: number | undefined;
    const told = (error?: unknown) =>
      onRequest?.({
        domainPrefix: grant.domainPrefix,
        grant: grant.type,
        startedAt,
        tookMs: performance.now() - beganAt,
        ...(status !== undefined && { status }),
        ...(error !== undefined && { error }),
      });
    const answered = (code: number) => {
      status = code;
    };
    try {
      const answer = await ask(grant, answered, late);
      told();
      return answer;
    } catch (error) {
      told(error);
      throw error;
    }
  }

  async function ask(
    grant: Grant,
    answered: (status: number) => void,
    late: Late | undefined,
  ): Promise<TokenAnswer> {
    const sent = { requestedAt: clock(), beganAt: performance.now() };
    const useOf = async (coming: Promise<Answer>) => {
      try {
        return tokensIn(await coming, grant, sent);
      } catch (error) {
        // Else there is nothing to keep: that no answer came in time was told already.
        return error instanceof RateLimitedError ? error : undefined;
      }
    };
    const answer = await post(options, grant, late && ((coming) => late(useOf(coming))));
    answered(answer.status);
    return tokensIn(answer, grant, sent);
  }

  /** @throws {RetailPosError} there are none in it. */
  function tokensIn(answer: Answer, grant: Grant, { requestedAt, beganAt }: Sent): TokenAnswer {
    const rateLimit = parseRateLimit(answer.headers);
    if (rateLimit) onRateLimit?.(grant.domainPrefix, rateLimit);
    if (answer.status === 429) {
      const now = clock();
      throw new RateLimitedError(retryAtOf(rateLimit, now), now, rateLimit, grant);
    }
    if (answer.redirected || answer.status < 200 || answer.status > 299) throw failureOf(answer, grant);
    return { response: usableResponse(answer, grant, requestedAt), requestedAt, beganAt, rateLimit };
  }
}
