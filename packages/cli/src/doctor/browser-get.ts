import { shown } from "./shown-address.js";

/** An answer as a browser sees it before it follows it anywhere. */
export interface Answer {
  readonly url: URL;
  readonly status: number;
  /** Where a redirect leads. */
  readonly location: URL | undefined;
  readonly setCookie: readonly string[];
  /** How far the clock behind this answer is ahead of ours, in milliseconds, give or take a second. */
  readonly aheadMs: number | undefined;
}

/** No answer, and why not. */
export interface Silence {
  readonly url: URL;
  readonly unreachable: string;
}

export type Reply = Answer | Silence;

/** One GET, as a browser makes it when somebody follows a link. Redirects are not followed. Never rejects. */
export type Ask = (url: URL, cookies?: string) => Promise<Reply>;

export function asker(timeoutMs: number, clock: () => number): Ask {
  return async (url, cookies = "") => {
    const headers = {
      Accept: "text/html,application/xhtml+xml,*/*;q=0.8",
      "User-Agent": "retail-pos doctor",
      ...(cookies === "" ? {} : { Cookie: cookies }),
    };
    const askedAt = clock();
    try {
      const signal = AbortSignal.timeout(timeoutMs);
      const response = await fetch(url, { headers, redirect: "manual", signal });
      const halfway = (askedAt + clock()) / 2;
      await response.body?.cancel();
      return answerOf(url, response, halfway);
    } catch (error) {
      return { url, unreachable: whyNot(error, url, timeoutMs) };
    }
  };
}

export function isSilence(reply: Reply): reply is Silence {
  return "unreachable" in reply;
}

function answerOf(url: URL, { status, headers }: Response, halfway: number): Answer {
  const location = headers.get("location");
  const isRedirect = status >= 300 && status < 400 && location !== null && URL.canParse(location, url.href);
  return {
    url,
    status,
    location: isRedirect ? new URL(location, url) : undefined,
    setCookie: headers.getSetCookie(),
    aheadMs: aheadOf(headers, halfway),
  };
}

function aheadOf(headers: Headers, halfway: number): number | undefined {
  const saidAt = Date.parse(headers.get("date") ?? "");
  if (Number.isNaN(saidAt)) return undefined;
  // An answer out of a cache carries the date it was made at, and its age since (RFC 9111, 5.1).
  const age = Number(headers.get("age") ?? 0);
  return saidAt + (Number.isFinite(age) ? age * 1000 : 0) - halfway;
}

function whyNot(error: unknown, url: URL, timeoutMs: number): string {
  const { name, cause } = error as Error & { cause?: { code?: string; message?: string } };
  const code = cause?.code ?? "";
  if (name === "TimeoutError") return `${shown(url)} did not answer within ${timeoutMs / 1000} seconds`;
  if (code === "ECONNREFUSED") return `nothing listens at ${url.origin}`;
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") return `the host name ${url.hostname} is not known`;
  if (/CERT|SIGNATURE|ISSUER|ALTNAME/.test(code))
    return `the certificate of ${url.origin} is not trusted (${code})`;
  if (cause?.message === "bad port") return `browsers refuse to open port ${url.port}`;
  if (cause?.message === "unknown scheme") return `${url.protocol} is no address of a web page`;
  return `asking ${shown(url)} failed${code ? ` (${code})` : ""}`;
}
