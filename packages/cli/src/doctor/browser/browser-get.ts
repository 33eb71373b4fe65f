import { Cookie } from "tough-cookie";
import type { Time } from "../../terminal/time.js";
import { type Silence, silenceOf } from "./silence.js";

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
      return silenceOf(error, url, timeoutMs);
    }
  };
}

export function isSilence(reply: Reply): reply is Silence {
  return "unreachable" in reply;
}

/** What a browser reads in each `Set-Cookie`, in order; also those that delete a cookie. */
export function cookiesSetBy(answers: readonly Pick<Answer, "headers">[]): Cookie[] {
  const lines = answers.flatMap(({ headers }) => headers.getSetCookie());
  return lines.map((line) => Cookie.parse(line)).filter((cookie) => cookie !== undefined);
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
