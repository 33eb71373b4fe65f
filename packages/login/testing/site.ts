import { type RetailPosOptions, retailPos } from "@retail-pos/core";
import { type FakeService, fakeService } from "../../core/testing/fake-service.js";
import { type FailureEvent, type WebLogin, type WebLoginOptions, webLogin } from "../src/index.js";

export const CALLBACK = "https://app.example.net/callback";
export const SECRET = "a secret of the tests, longer than 32 letters";
export const MINUTE_MS = 60_000;

export const APPLICATION = {
  authUrl: "https://login.example.com",
  baseUrl: "https://{domain_prefix}.example.com",
  clientId: "the-application",
  clientSecret: "the-client-secret",
  redirectUri: CALLBACK,
} as const;

/** An application with two routes, and the service behind it. */
export interface Site extends WebLogin {
  readonly service: FakeService;
  readonly time: { now: number };
  /** What `onFailure` was told. */
  readonly failures: FailureEvent[];
}

export interface SiteSettings {
  readonly login?: Partial<WebLoginOptions>;
  readonly client?: Partial<RetailPosOptions>;
}

export function site({ login, client }: SiteSettings = {}): Site {
  const [service, time, failures] = [fakeService(), { now: 1_900_000_000_000 }, [] as FailureEvent[]];
  const pos = retailPos({ ...APPLICATION, fetch: service.fetch, ...client });
  const handlers = webLogin({
    client: pos,
    secret: SECRET,
    clock: () => time.now,
    onLogin: ({ login: { domainPrefix }, state, verified }) =>
      Response.json({ domainPrefix, state, verified }),
    onFailure: (event) => {
      failures.push(event);
      const { status, headers, message } = event;
      return new Response(message, { status, headers });
    },
    ...login,
  });
  return { ...handlers, service, time, failures };
}

/** One person's browser: keeps the cookies that a handler sets, as browsers do, and brings them back. */
export interface WebBrowser {
  readonly cookies: Map<string, string>;
  open(
    handler: (request: Request) => Promise<Response>,
    url: string | URL,
    init?: RequestInit,
  ): Promise<Response>;
  /** Starts a login; where the service will send the browser back, with a code of this retailer's. */
  begin(site: WebLogin, retailer?: string, login?: Parameters<WebLogin["start"]>[1]): Promise<URL>;
}

export function webBrowser(): WebBrowser {
  const cookies = new Map<string, string>();
  return { cookies, open, begin };

  async function open(
    handler: (request: Request) => Promise<Response>,
    url: string | URL,
    init: RequestInit = {},
  ) {
    const headers = new Headers(init.headers);
    if (cookies.size > 0) headers.append("cookie", [...cookies].map((pair) => pair.join("=")).join("; "));
    const answer = await handler(new Request(url, { ...init, headers }));
    for (const line of answer.headers.getSetCookie()) keep(line, new URL(url));
    return answer;
  }

  async function begin(one: WebLogin, retailer = "shop", login: Parameters<WebLogin["start"]>[1] = {}) {
    const answer = await open((request) => one.start(request, login), "https://app.example.net/login");
    return approval(answer.headers.get("location") ?? "", retailer);
  }

  function keep(line: string, from: URL): void {
    const [, name = "", value = "", attributes = ""] = /^([^=]+)=([^;]*)(.*)$/.exec(line) ?? [];
    const isKept =
      !name.startsWith("__Host-") || (/; Path=\/;.*; Secure$/.test(attributes) && from.protocol === "https:");
    if (!isKept) throw new Error(`A browser drops ${line}`);
    if (/; Max-Age=0\b/.test(attributes)) cookies.delete(name);
    else cookies.set(name, value);
  }
}

/** The service's redirect back (2.3), for the login that `location` starts. */
export function approval(location: string, retailer: string, code = `code-${retailer}`): URL {
  const asked = new URL(location).searchParams;
  const url = new URL(asked.get("redirect_uri") ?? "");
  url.searchParams.set("code", code);
  url.searchParams.set("domain_prefix", retailer);
  url.searchParams.set("state", asked.get("state") ?? "");
  return url;
}
