import { longestPauseAfter } from "./back-off.js";
import type { Retailer } from "./known-retailers.js";
import type { TokenSet } from "./token-set.js";

/** A token this young cannot have ended by itself. */
const JUST_ISSUED_MS = 120_000;
/** So many tokens in a row are renewed at once. */
const AT_ONCE = 10;

/**
 * Whether a 401 is about the token. Some APIs answer 401 to a call that they would not serve with any token:
 * renewing for each of these would use up the token endpoint's rate limit (section 8) and end the tokens that
 * other calls work with. So after a few tokens in a row that were rejected when just issued, one more renewal
 * follows after a second, then two, up to once a minute; in between, the token is kept.
 */
export function isAboutTheToken(retailer: Retailer, { issuedAt }: TokenSet, now: number): boolean {
  const { count, at } = retailer.rejections;
  const isYoung = Math.abs(now - issuedAt) < JUST_ISSUED_MS; // clocks of two processes differ
  const sinceLastMs = Math.abs(now - at);
  if (isYoung && count >= AT_ONCE && sinceLastMs < longestPauseAfter(count - AT_ONCE + 1)) return false;
  retailer.rejections = { count: isYoung ? count + 1 : 1, at: now };
  return true;
}
