import { within } from "../platform/timers.js";
import { codeBehind, withoutSecrets } from "../secrets/errors-without-secrets.js";
import { type Addresses, tokenUrl } from "../settings/addresses.js";
import { TokenEndpointError } from "../vocabulary/errors.js";
import { bodyOf } from "./answer-body.js";
import type { Grant } from "./token-grants.js";

export interface PostOptions {
  addresses: Addresses;
  timeoutMs: number;
  userAgent: string;
  fetch: typeof globalThis.fetch;
}

/** An answer of the token endpoint, good or bad. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** `undefined` when it is longer than 1 MiB. */
  readonly body: string | undefined;
  readonly redirected: boolean;
}

/**
 * One POST, one deadline over headers and body, redirects not followed: their target would get the secret
 * (behaviour 10).
 *
 * @param late given what comes after the deadline, within three times that time; it rejects if nothing does. Without
 * it, the request is aborted at the deadline.
 * @throws {TokenEndpointError} there is no answer.
 */
export async function post(
  options: PostOptions,
  { domainPrefix, form, secrets }: Grant,
  late?: (coming: Promise<Answer>) => void,
): Promise<Answer> {
  const { addresses, timeoutMs, userAgent } = options;
  try {
    const work = async (signal: AbortSignal) => {
      const response = await options.fetch(tokenUrl(addresses.baseUrl(domainPrefix)), {
        method: "POST",
        headers: {
          accept: "application/json",
          "content-type": "application/x-www-form-urlencoded",
          "user-agent": userAgent,
        },
        body: new URLSearchParams(form).toString(),
        redirect: "manual",
        signal,
      });
      const { status, headers, redirected, type } = response;
      if (!Number.isInteger(status) || !headers) throw new TypeError("fetch gave no response");
      const body = await bodyOf(response);
      return { status, headers, body, redirected: redirected || type === "opaqueredirect" };
    };
    return await withDeadline(timeoutMs, work, late);
  } catch (error) {
    const why =
      error instanceof DeadlinePassed ? `no answer within ${timeoutMs} ms` : failure(error, secrets);
    throw new TokenEndpointError(
      `The token endpoint of retailer "${domainPrefix}" could not be used: ${why}`,
      { domainPrefix, cause: withoutSecrets(error, secrets) },
    );
  }
}

/** `fetch` says "fetch failed", and keeps what happened (`ENOTFOUND`, `ECONNREFUSED`) in a cause of a cause. */
function failure(error: unknown, secrets: readonly string[]): string {
  const code = codeBehind(error, secrets);
  return code === undefined ? "the network failed" : `the network failed (${code})`;
}

class DeadlinePassed extends Error {}

/** Does not wait for work that ignores the signal. */
function withDeadline<T>(
  timeoutMs: number,
  work: (signal: AbortSignal) => Promise<T>,
  late: ((coming: Promise<T>) => void) | undefined,
): Promise<T> {
  const controller = new AbortController();
  const working = work(controller.signal);
  return within(timeoutMs, working, () => {
    const reason = new DeadlinePassed(`timed out after ${timeoutMs} ms`);
    if (!late) {
      controller.abort(reason);
      return reason;
    }
    // No timer of this process, so that it may end. It takes whole numbers only.
    const end = AbortSignal.timeout(Math.ceil(Math.min(timeoutMs * LATE, LONGEST_TIMER_MS)));
    const never = new Promise<never>((_, reject) => {
      const stop = () => {
        controller.abort(reason);
        reject(reason);
      };
      end.addEventListener("abort", stop, { once: true });
    });
    late(Promise.race([working, never]));
    return reason;
  });
}

/** So many more times the deadline an answer may be late. */
const LATE = 2;
const LONGEST_TIMER_MS = 2 ** 31 - 1;
