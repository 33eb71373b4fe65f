import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";

/** What came back, its body already read. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** Where a redirect leads; empty where there is none. */
  readonly location: string;
  readonly body: string;
}

/** One person's browser: keeps cookies by host name, follows no redirect, gives up where no answer comes. */
export interface Browser {
  open(url: string | URL, init?: RequestInit): Promise<Answer>;
  /** The same with headers of Fetch Metadata, which `fetch` sets itself: the status. */
  navigate(url: string, headers: Record<string, string>, method?: string): Promise<number>;
  /** The cookies of a host, as they are sent. */
  cookies(hostname?: string): string;
  forgetCookies(): void;
  /** One cookie of this machine. */
  cookie(name: string): string;
  setCookie(name: string, value: string): void;
  /** Every answer so far. */
  readonly answers: readonly Answer[];
}

const PATIENCE_MS = 30_000;

export function browser(): Browser {
  const jars = new Map<string, Map<string, string>>();
  const answers: Answer[] = [];
  const jarOf = (hostname: string) => {
    const jar = jars.get(hostname) ?? new Map<string, string>();
    jars.set(hostname, jar);
    return jar;
  };
  const cookies = (hostname = "127.0.0.1") =>
    [...jarOf(hostname)].map(([name, value]) => `${name}=${value}`).join("; ");

  return {
    answers,
    cookies,
    forgetCookies: () => jars.clear(),
    cookie: (name) => jarOf("127.0.0.1").get(name) ?? "",
    setCookie: (name, value) => void jarOf("127.0.0.1").set(name, value),
    async open(url, init = {}) {
      const { hostname } = new URL(url);
      const headers = new Headers(init.headers);
      const cookie = cookies(hostname);
      if (cookie) headers.set("cookie", cookie);
      const signal = AbortSignal.timeout(PATIENCE_MS);
      const response = await fetch(url, { ...init, headers, signal, redirect: "manual" });
      keep(response.headers.getSetCookie(), jarOf(hostname));
      const answer = {
        status: response.status,
        headers: response.headers,
        location: response.headers.get("location") ?? "",
        body: await response.text(),
      };
      answers.push(answer);
      return answer;
    },
    async navigate(url, headers, method = "GET") {
      const { hostname } = new URL(url);
      const cookie = cookies(hostname);
      const sent = request(url, { method, headers: { ...headers, ...(cookie && { cookie }) } }).end();
      const [answer] = (await once(sent, "response")) as [IncomingMessage];
      answer.resume();
      keep(answer.headers["set-cookie"] ?? [], jarOf(hostname));
      return answer.statusCode ?? 0;
    },
  };
}

function keep(lines: readonly string[], jar: Map<string, string>): void {
  for (const line of lines) {
    const [, name, value] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
    if (name === undefined || value === undefined) continue;
    if (/;\s*max-age=0\b/i.test(line)) jar.delete(name);
    else jar.set(name, value);
  }
}
