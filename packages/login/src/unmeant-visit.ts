/** Gives a header of a request by its name in lower case. */
export type HeaderOf = (name: string) => unknown;

/**
 * Whether a browser asks ahead of the person who uses it, who may never come: it prefetches a link, or renders its page
 * before it is opened. `Purpose`, `X-Purpose` and `X-Moz` are what older browsers say, `X-Sec-Purpose` what Turbo
 * does. Next's `<Link>` gives a number for its way of prefetching.
 */
export function isPrefetch(header: HeaderOf): boolean {
  const headers = ["sec-purpose", "purpose", "x-purpose", "x-moz", "x-sec-purpose", "next-router-prefetch"];
  return headers.some((name) => /^\d$|\b(prefetch|prerender|preview)\b/i.test(String(header(name) ?? "")));
}

/**
 * Whether a page makes a browser start a login without going there (W3C, Fetch Metadata): one of another host by an
 * image, a frame or a fetch, the application's own by an image, or any by a WebSocket, whose request has no Fetch
 * Metadata. Each would push out a login that is under way. A frame of a neighbouring host may be the application's own.
 */
export function isEmbed(header: HeaderOf): boolean {
  if (header("sec-websocket-key") != null) return true; // not `Upgrade`: some proxies add it to every request
  const [site, mode, dest] = ["site", "mode", "dest"].map((name) => header(`sec-fetch-${name}`));
  if (site === "same-origin") return mode === "no-cors"; // an image, a script; some routers fetch before they visit
  if (site !== "cross-site" && site !== "same-site") return false;
  return mode !== "navigate" || (site === "cross-site" && FRAMES.has(dest));
}

/**
 * Whether a page of another site sends a form here. Cookies that are SameSite=Lax stay at home then, so nobody would
 * know how many logins are under way, and each such POST would add one more cookie.
 */
export function isForeignPost(method: string | undefined, header: HeaderOf): boolean {
  return method === "POST" && header("sec-fetch-site") === "cross-site";
}

/** A visit says `document`; one that goes through the application's own service worker says `empty`. */
const FRAMES: ReadonlySet<unknown> = new Set(["iframe", "frame", "fencedframe", "embed", "object"]);

/**
 * Whether a start may take the place of an older login of the browser: not if a script can send it again and again,
 * such as a frame, an image or a fetch of the application's own page, which no redirect leads to the consent page, or a
 * window that a page of another site has opened and sends here without a click. Safari, and whatever else is WebKit,
 * never says `Sec-Fetch-User`: there everything counts as a click.
 */
export function mayEvict(header: HeaderOf): boolean {
  const browser = String(header("user-agent"));
  const isClicked = header("sec-fetch-user") != null || /^(?!.*Chrom(e|ium)\/).*AppleWebKit\//.test(browser);
  const isForced = header("sec-fetch-site") === "cross-site" && !isClicked;
  const isVisit = header("sec-fetch-site") == null || (header("sec-fetch-mode") ?? "navigate") === "navigate";
  return isVisit && !isForced && !FRAMES.has(header("sec-fetch-dest"));
}

/** Sets, spends and evicts nothing; a person who then visits the page by a click logs in. */
export const PREFETCH_RESPONSE = {
  status: 503,
  headers: { "cache-control": "no-store", "content-type": "text/plain; charset=utf-8" },
  body: "Nothing was done: a login takes a visit of this page. To log in, follow this site's own link.\n",
} as const;
