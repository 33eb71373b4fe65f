/** Gives a header of a request by its name in lower case. */
export type HeaderOf = (name: string) => unknown;

/**
 * Whether a browser asks ahead of the person who uses it, who may never come: it prefetches a link, or renders its page
 * before it is opened. `Purpose`, `X-Purpose` and `X-Moz` are what older browsers say; the first header is that of
 * Next's `<Link>`.
 */
export function isPrefetch(header: HeaderOf): boolean {
  if (header("next-router-prefetch") != null) return true;
  return ["sec-purpose", "purpose", "x-purpose", "x-moz"].some((name) =>
    /\b(prefetch|prerender|preview)\b/i.test(String(header(name) ?? "")),
  );
}

/**
 * Whether a page of another host makes a browser start a login without going there, by an image, a frame or a fetch
 * (W3C, Fetch Metadata), or by a WebSocket, whose request has no Fetch Metadata. Each would push out a login that is
 * under way. A frame of a neighbouring host may be the application's own.
 */
export function isCrossSiteEmbed(header: HeaderOf): boolean {
  if (header("sec-websocket-key") != null) return true; // not `Upgrade`: some proxies add it to every request
  const [site, mode, dest] = ["site", "mode", "dest"].map((name) => header(`sec-fetch-${name}`));
  if (site !== "cross-site" && site !== "same-site") return false;
  return mode !== "navigate" || (site === "cross-site" && FRAMES.has(dest));
}

/** A visit says `document`; one that goes through the application's own service worker says `empty`. */
const FRAMES: ReadonlySet<unknown> = new Set(["iframe", "frame", "fencedframe", "embed", "object"]);

/**
 * Whether another site sends the browser here without a click, as a script that has opened a window can do again and
 * again.
 */
export function isUnclicked(header: HeaderOf): boolean {
  return header("sec-fetch-site") === "cross-site" && header("sec-fetch-user") == null;
}

/** An answer that leaves every login as it is. */
interface PrefetchResponse {
  /** The HTTP status. */
  readonly status: 503;
  /** Header names and values. */
  readonly headers: Readonly<Record<string, string>>;
  /** For a person who sees it. */
  readonly body: string;
}

/** Sets, spends and evicts nothing; a person who then visits the page by a click logs in. */
export const PREFETCH_RESPONSE: PrefetchResponse = {
  status: 503,
  headers: { "cache-control": "no-store", "content-type": "text/plain; charset=utf-8" },
  body: "Nothing was done: a login takes a visit of this page, not a prefetch, a frame or another site's request.\n",
};
