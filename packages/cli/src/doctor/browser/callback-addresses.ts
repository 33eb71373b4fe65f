import { randomBytes } from "node:crypto";

/** Whoever reads the application's log sees where it comes from. */
const MADE_UP = "made-up-by-the-doctor";

/** A state that nobody was ever sent, as long as the strategy's own. */
export function forgedState(): string {
  return randomBytes(24).toString("base64url");
}

/** How a browser comes to the callback without an approval. */
export type Way = "forged" | "declined" | "failed" | "malformed";

interface Whose {
  readonly domainPrefix?: string | undefined;
  readonly state?: string;
}

/** Without a domain prefix it is of a retailer that there is not, and without a state of a login that there is not. */
export function callbackAddress(
  callback: URL,
  way: Way,
  { domainPrefix = "retail-pos-doctor", state = forgedState() }: Whose = {},
): URL {
  const approved = { code: MADE_UP, domain_prefix: domainPrefix, state };
  const parameters: Record<Way, Record<string, string>> = {
    // Somebody approved (2.3), but the code was never issued.
    forged: approved,
    // No service sends two codes. The strategy and `@retail-pos/login` answer 400 before they look at the state.
    malformed: approved,
    // Somebody declined (2.3).
    declined: { error: "access_denied" },
    // An error that is no decline (RFC 6749, 4.1.2.1). The strategy and `@retail-pos/login` check its state, spend no
    // login and send no token request, so it shows whether a state is known and costs nothing.
    failed: { error: "server_error", error_description: MADE_UP, state },
  };
  const url = new URL(callback);
  for (const [name, value] of Object.entries(parameters[way])) url.searchParams.append(name, value);
  if (way === "malformed") url.searchParams.append("code", `${MADE_UP}-again`);
  return url;
}
