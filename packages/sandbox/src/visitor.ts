/** A person with a browser, for tests: keeps the application's cookies, follows redirects, and approves. */
export interface Visitor {
  /**
   * As the global `fetch`, for an address or for a path of the application. Where a redirect leads to the consent page,
   * the visitor approves, and goes on to the callback. With `redirect: "manual"` it answers the redirect itself.
   *
   * @throws {Error} what the consent page says of a wrong request; or more than 20 redirects.
   */
  fetch(url: string | URL, init?: RequestInit): Promise<Response>;
  /** The store that the visitor approves for. */
  domainPrefix: string;
  /** By name: the cookies of the application's host, whatever the port. */
  cookies: Map<string, string>;
}

const MOST_REDIRECTS = 20;

/**
 * @param redirectUri the application's callback address.
 * @param approve where the visitor goes on to from this address, if it is that of the consent page.
 */
export function newVisitor(
  redirectUri: string,
  domainPrefix: string,
  approve: (address: URL, domainPrefix: string) => URL | undefined,
): Visitor {
  const home = new URL(redirectUri);
  const visitor: Visitor = {
    domainPrefix,
    cookies: new Map(),
    fetch: (url, init = {}) => visit(new URL(url, home), init, MOST_REDIRECTS),
  };

  async function visit(asked: URL, init: RequestInit, redirectsLeft: number): Promise<Response> {
    const url = approve(asked, visitor.domainPrefix) ?? asked;
    const isAtHome = url.hostname === home.hostname;
    const headers = new Headers(init.headers);
    const cookies = [...visitor.cookies].map((pair) => pair.join("="));
    if (isAtHome && cookies.length > 0) headers.append("cookie", cookies.join("; "));
    const response = await fetch(url, { ...init, headers, redirect: "manual" });
    if (isAtHome) for (const line of response.headers.getSetCookie()) keep(line, visitor.cookies);
    const location = response.headers.get("location");
    if (init.redirect === "manual" || location === null) return response;
    // Without the query: a code may be in it.
    if (redirectsLeft === 0)
      throw new Error(`Too many redirects, the last one by ${url.origin}${url.pathname}`);
    await response.body?.cancel();
    const keepsMethod = response.status === 307 || response.status === 308;
    const next = keepsMethod ? init : { ...init, method: "GET", body: null };
    return visit(new URL(location, url), next, redirectsLeft - 1);
  }
  return visitor;
}

function keep(line: string, cookies: Map<string, string>): void {
  const [, name = "", value = "", attributes = ""] = /^([^=;]+)=([^;]*)(;.*)?$/.exec(line) ?? [];
  const maxAge = /; *max-age=(-?\d+)/i.exec(attributes)?.[1];
  const expires = /; *expires=([^;]+)/i.exec(attributes)?.[1];
  const isOver = maxAge === undefined ? Date.parse(expires ?? "") <= Date.now() : Number(maxAge) <= 0;
  if (isOver) cookies.delete(name);
  else cookies.set(name, value);
}
