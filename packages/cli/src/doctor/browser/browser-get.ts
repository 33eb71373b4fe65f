import type { Time } from "../../terminal/time.js";
import { shown } from "./shown-address.js";

/** An answer as a browser sees it before it follows it anywhere. */
export interface Answer {
  readonly url: URL;
  readonly status: number;
  readonly headers: Headers;
  /** The beginning of the page; empty for a redirect, whose page no browser shows. */
  readonly text: string;
  /** Where a redirect leads. */
  readonly location: URL | undefined;
}

/** No answer, and why not. */
export interface Silence {
  readonly url: URL;
  readonly why: WhySilent;
  /** The same in words, to stand after a colon. */
  readonly unreachable: string;
}

/** `closed`: somebody listens, and hung up without an answer. */
export type WhySilent =
  | "nobody-listens"
  | "unknown-host"
  | "too-late"
  | "untrusted"
  | "no-tls"
  | "closed"
  | "unopenable"
  | "other";

export type Reply = Answer | Silence;

/**
 * One GET, as a browser makes it when somebody follows a link, on a connection of its own: behind one address may be
 * several processes, and a connection that is kept leads to the same one. Redirects are not followed. Never rejects.
 */
export type Ask = (url: URL, cookies?: string) => Promise<Reply>;

/** More of a page is not read. */
const MOST_OF_A_PAGE = 65_536;

export function asker(timeoutMs: number, time: Time): Ask {
  return async (url, cookies = "") => {
    const headers = {
      Accept: "text/html,application/xhtml+xml,*/*;q=0.8",
      Connection: "close",
      "User-Agent": "retail-pos doctor",
      ...(cookies === "" ? {} : { Cookie: cookies }),
    };
    try {
      const signal = time.timeout(timeoutMs);
      const response = await fetch(url, { headers, redirect: "manual", signal });
      const location = locationIn(response, url);
      const text = await beginningOf(response, location === undefined ? MOST_OF_A_PAGE : 0);
      return { url, status: response.status, headers: response.headers, text, location };
    } catch (error) {
      const why = whySilent(error);
      return { url, why, unreachable: inWords(why, error, url, timeoutMs) };
    }
  };
}

export function isSilence(reply: Reply): reply is Silence {
  return "unreachable" in reply;
}

function locationIn({ status, headers }: Response, url: URL): URL | undefined {
  const location = headers.get("location");
  const isRedirect = status >= 300 && status < 400 && location !== null && URL.canParse(location, url.href);
  return isRedirect ? new URL(location, url) : undefined;
}

/** A page that breaks off, or does not end in time, is taken as far as it came. */
async function beginningOf({ body }: Response, most: number): Promise<string> {
  let text = "";
  if (!body) return text;
  const decoder = new TextDecoder();
  const reader = body.getReader();
  try {
    while (text.length < most) {
      const { done, value } = await reader.read();
      if (done) break;
      text += decoder.decode(value, { stream: true });
    }
  } catch {
    // As far as it came.
  }
  await reader.cancel().catch(() => {});
  return text.slice(0, most);
}

function whySilent(error: unknown): WhySilent {
  const { name, cause } = error as Error & { cause?: { code?: string; message?: string } };
  const code = cause?.code ?? "";
  if (name === "TimeoutError") return "too-late";
  if (code === "ECONNREFUSED") return "nobody-listens";
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") return "unknown-host";
  if (/WRONG_VERSION_NUMBER|UNKNOWN_PROTOCOL|ERR_SSL_PACKET|EPROTO/.test(code)) return "no-tls";
  if (/CERT|SIGNATURE|ISSUER|ALTNAME/.test(code)) return "untrusted";
  if (code === "UND_ERR_SOCKET" || code === "ECONNRESET" || code.startsWith("HPE_")) return "closed";
  if (cause?.message === "bad port" || cause?.message === "unknown scheme") return "unopenable";
  return "other";
}

function inWords(why: WhySilent, error: unknown, url: URL, timeoutMs: number): string {
  const { code = "", message } = Object((error as Error).cause) as { code?: string; message?: string };
  const words: Record<WhySilent, string> = {
    "nobody-listens": `nothing listens at ${url.origin}`,
    "unknown-host": `the host name ${url.hostname} is not known`,
    "too-late": `${shown(url)} did not answer within ${timeoutMs / 1000} seconds`,
    untrusted: `the certificate of ${url.origin} is not trusted (${code})`,
    "no-tls": `${url.host} does not speak https (${code})`,
    closed: `${url.origin} closed the connection without an answer that a browser understands (${code})`,
    unopenable:
      message === "bad port"
        ? `browsers refuse to open port ${url.port}`
        : `${url.protocol} is no address of a web page`,
    other: `asking ${shown(url)} failed${code ? ` (${code})` : ""}`,
  };
  return words[why];
}
