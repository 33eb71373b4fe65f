import type { IncomingHttpHeaders } from "node:http";

/** Methods that change nothing here. */
const READING = ["GET", "HEAD", "OPTIONS"];

/** For whoever set this up: people do not see it, unless somebody tries to act in their name. */
export const REFUSAL = "This request came from a page of another site. Nothing was changed.\n";

/**
 * Whether a page of another site made a browser send a request that changes something. A program sends neither header,
 * and has no cookie of somebody else. Beside the cookie's SameSite, which lets every subdomain of our site through.
 *
 * @param redirectUri of our origin. No header of a proxy has to be trusted for it.
 */
export function isFromElsewhere(
  method: string | undefined,
  headers: Pick<IncomingHttpHeaders, "origin" | "sec-fetch-site">,
  redirectUri: string,
): boolean {
  if (method && READING.includes(method)) return false;
  const { origin, "sec-fetch-site": site } = headers;
  if (origin !== undefined) return origin !== new URL(redirectUri).origin; // "null" is nobody's
  return site !== undefined && site !== "same-origin" && site !== "none";
}
