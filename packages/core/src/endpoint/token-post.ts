import { within } from "../platform/timers.js";
import { rootCause, withoutSecrets } from "../secrets/errors-without-secrets.js";
import { tokenUrl } from "../settings/addresses.js";
import type { CheckedOptions } from "../settings/options.js";
import { TokenEndpointError } from "../vocabulary/errors.js";
import { bodyOf } from "./answer-body.js";
import type { TokenRequest } from "./token-requests.js";

export type PostOptions = Pick<CheckedOptions, "addresses" | "timeoutMs" | "userAgent" | "fetch">;

/** An answer of the token endpoint, success or failure. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** `undefined` if it is longer than 1 MiB. */
  readonly body: string | undefined;
  readonly redirected: boolean;
}

/**
 * Sends one POST, with one deadline for headers and body. It does not follow redirects, because their target would get
 * the client secret (behaviour 10).
 *
 * @param late called at the deadline with a promise of the late answer, which rejects if none comes within three times
 * the deadline. Without `late`, the request is aborted at the deadline.
 * @throws {TokenEndpointError} there is no answer in time.
 */
export async function post(
  options: PostOptions,
  { domainPrefix, form, secrets }: TokenRequest,
  late?: (coming: Promise<HttpAnswer>) => void,
): Promise<HttpAnswer> {
  const { addresses, timeoutMs, userAgent } = options;
  try {
    const work = async (signal: AbortSignal) => {
      const response = await options.fetch(tokenUrl(addresses.baseUrl(domainPrefix)), {
        method: "POST",
        headers: {
          accept: "application/json",
          "content-type": "application/x-www-form-urlencoded",
          "user-agent": userAgent,
          "x-request-id": crypto.randomUUID(),
        },
        body: new URLSearchParams(form).toString(),
        redirect: "manual",
        signal,
        ...uncached,
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

/**
 * Next.js may answer `fetch` from a cache on disk, token requests included. `internal` makes Next skip that cache, but
 * is undocumented. So `cache` goes along, and a fresh `X-Request-Id`: no cached answer fits two requests. Runtimes that
 * do not know `next` ignore it.
 */
const uncached = { ...noStoreIfKnown(), next: { internal: true } };

/** Nothing if the runtime refuses it: workerd throws before the compatibility date 2024-11-11. */
function noStoreIfKnown(): object {
  const noStore = { cache: "no-store" };
  try {
    return "cache" in new Request("https://retailer.example", noStore as object) ? noStore : {};
  } catch {
    return {};
  }
}

/** The message of `fetch` is only "fetch failed"; what happened is in one of its causes. */
function failure(error: unknown, secrets: readonly string[]): string {
  const { code, words } = rootCause(error, secrets);
  return `the network failed${code ? ` (${code})` : ""}${words ? `: ${words}` : ""}`;
}

class DeadlinePassed extends Error {}

/** Rejects at the deadline, also if the work ignores the signal. */
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
    // This timer does not keep the process alive. It takes whole numbers only.
    const end = AbortSignal.timeout(Math.ceil(Math.min(timeoutMs * LATE_TIMEOUT_FACTOR, LONGEST_TIMER_MS)));
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

/** After the deadline, an answer is waited for this many times as long again. */
export const LATE_TIMEOUT_FACTOR = 2;
const LONGEST_TIMER_MS = 2 ** 31 - 1;
