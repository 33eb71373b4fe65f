import type { DomainPrefix } from "../vocabulary/domain-prefix.js";
import { RateLimitedError } from "../vocabulary/errors.js";
import type { Tell } from "../vocabulary/events.js";
import { parseRateLimit, type RateLimit, retryAfterOf, retryAtOf } from "../vocabulary/rate-limit.js";
import { failureOf, usableResponse } from "./token-answer-check.js";
import { type HttpAnswer, type PostOptions, post } from "./token-post.js";
import {
  type ExchangeExtra,
  type RefreshedAccess,
  type TokenRequest,
  type TokenRequestOptions,
  tokenRequests,
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
  const grants = tokenRequests(options);

  return {
    exchange: (domainPrefix, code, extra, held) => request(grants.code(domainPrefix, code, extra, held)),
    refresh: (domainPrefix, refreshToken, { late, ...access } = {}) =>
      request(grants.refresh(domainPrefix, refreshToken, access), late),
  };

  /** Sends one request, and tells the events of it once, with its result. */
  async function request(grant: TokenRequest, late?: Late): Promise<TokenAnswer> {
    const startedAt = Date.now();
    const beganAt = performance.now();
    let status: number | undefined;
    const report = (error?: unknown) =>
      tell?.({
        type: "token_request",
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
      report();
      return answer;
    } catch (error) {
      report(error);
      throw error;
    }
  }

  async function ask(
    grant: TokenRequest,
    answered: (status: number) => void,
    late: Late | undefined,
  ): Promise<TokenAnswer> {
    const sent = { requestedAt: clock(), beganAt: performance.now() };
    const useOf = async (coming: Promise<HttpAnswer>) => {
      try {
        return tokensIn(await coming, grant, sent);
      } catch (error) {
        // Other errors are dropped, because the request was already reported as unanswered.
        return error instanceof RateLimitedError ? error : undefined;
      }
    };
    const answer = await post(options, grant, late && ((coming) => late(useOf(coming))));
    answered(answer.status);
    return tokensIn(answer, grant, sent);
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
