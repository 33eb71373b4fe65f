import type { DomainPrefix } from "../vocabulary/domain-prefix.js";
import { RateLimitedError } from "../vocabulary/errors.js";
import type { Tell } from "../vocabulary/events.js";
import { parseRateLimit, type RateLimit, retryAfterOf, retryAtOf } from "../vocabulary/rate-limit.js";
import { failureOf, usableResponse } from "./token-answer-check.js";
import { type HttpAnswer, type PostOptions, post } from "./token-post.js";
import {
  codeRequest,
  type ExchangeExtra,
  type RefreshedAccess,
  refreshRequest,
  type TokenRequest,
  type TokenRequestOptions,
} from "./token-requests.js";
import type { TokenResponse } from "./token-response.js";

/** Sends token requests to the retailers' token endpoints (4.2, 4.3). It keeps nothing between two requests. */
export interface TokenEndpoint {
  /**
   * Exchanges a code for tokens (4.2). It sends one request: a code is single-use, so a second try could only fail.
   *
   * @param held the retailer's tokens of an earlier login, which no error may show either.
   * @throws {TokenEndpointError} also if the service refuses the code (`error: "invalid_grant"`).
   */
  exchange(
    domainPrefix: DomainPrefix,
    code: string,
    extra?: ExchangeExtra,
    held?: readonly string[],
  ): Promise<TokenAnswer>;
  /**
   * Gets new tokens for a refresh token (4.3).
   *
   * @throws {ReconnectRequiredError} when the service refuses the refresh token.
   * @throws {RefusedEarlyError} if `isEarly`, for any refusal: perhaps the service renews no token before its end.
   */
  refresh(domainPrefix: DomainPrefix, refreshToken: string, extra?: RefreshExtra): Promise<TokenAnswer>;
}

/** What else belongs to one renewal. */
export interface RefreshExtra extends RefreshedAccess {
  /**
   * Called if there is no answer in time, with what may still come: tokens, because the service may have ended the old
   * refresh token (R4); or a 429, which counts although it is late.
   */
  late?: Late;
}

/** The answer that comes after the deadline; `undefined` if none comes, or an unusable one. Never rejects. */
export type Coming = Promise<TokenAnswer | RateLimitedError | undefined>;

/** Receives the answer that may come after the deadline. */
export type Late = (coming: Coming) => void;

/** A usable 2xx answer. */
export interface TokenAnswer {
  readonly response: TokenResponse;
  /** When the request was sent, epoch milliseconds. */
  readonly requestedAt: number;
  /** The same instant by `performance.now()`, which no clock change affects. */
  readonly beganAt: number;
  readonly rateLimit: RateLimit | undefined;
}

/** When a request was sent, by both clocks. */
type SentAt = Pick<TokenAnswer, "requestedAt" | "beganAt">;

export interface TokenEndpointOptions extends TokenRequestOptions, PostOptions {
  clock: () => number;
  /** Told of each request, once it is over. */
  tell?: Tell;
}

export function tokenEndpoint(options: TokenEndpointOptions): TokenEndpoint {
  const { clock, tell, logins } = options;

  return {
    exchange: (domainPrefix, code, extra, held) =>
      request(codeRequest(options, domainPrefix, code, extra, held)),
    refresh: (domainPrefix, refreshToken, { late, ...access } = {}) =>
      request(refreshRequest(options, domainPrefix, refreshToken, access), late),
  };

  /** Sends one request, and tells of it once, with its result. */
  async function request(grant: TokenRequest, late?: Late): Promise<TokenAnswer> {
    const startedAt = Date.now();
    const sent = { requestedAt: clock(), beganAt: performance.now() };
    let told: { status?: number; error?: unknown } = {};
    const useOf = async (coming: Promise<HttpAnswer>) => {
      try {
        return tokensIn(await coming, grant, sent);
      } catch (error) {
        // Other errors are dropped, because the request was already reported as unanswered.
        return error instanceof RateLimitedError ? error : undefined;
      }
    };
    try {
      const answer = await post(options, grant, late && ((coming) => late(useOf(coming))));
      told = { status: answer.status };
      return tokensIn(answer, grant, sent);
    } catch (error) {
      told = { ...told, error };
      throw error;
    } finally {
      const tookMs = performance.now() - sent.beganAt;
      const { domainPrefix, type } = grant;
      tell?.({ type: "token_request", domainPrefix, grant: type, startedAt, tookMs, ...told });
    }
  }

  /** @throws {RetailPosError} the answer has no usable tokens. */
  function tokensIn(answer: HttpAnswer, grant: TokenRequest, { requestedAt, beganAt }: SentAt): TokenAnswer {
    const rateLimit = parseRateLimit(answer.headers);
    if (rateLimit) logins?.answered(grant.domainPrefix, rateLimit);
    const now = clock();
    const retryAfterAt = retryAfterOf(answer.headers, now);
    if (answer.status === 429) {
      throw new RateLimitedError(retryAtOf(rateLimit, now, retryAfterAt), now, rateLimit, grant);
    }
    if (answer.redirected || answer.status < 200 || answer.status > 299)
      throw failureOf(answer, grant, retryAfterAt);
    return { response: usableResponse(answer, grant, requestedAt), requestedAt, beganAt, rateLimit };
  }
}
