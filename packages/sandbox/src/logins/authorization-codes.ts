import { fingerprintOf, newSecret } from "../secrets.js";
import type { Login } from "../tokens/token.js";

/** An authorization code on its way from the consent page to the token endpoint. */
export interface AuthorizationCode {
  readonly domainPrefix: string;
  readonly redirectUri: string;
  readonly scopes: readonly string[];
  readonly issuedAt: number;
  /** The login that it was exchanged for; once set, the code is spent. */
  spentOn?: Login;
}

export interface AuthorizationCodes {
  issue(domainPrefix: string, redirectUri: string, scopes: readonly string[]): string;
  /** The code if it can be exchanged at this store with this address, else the reason why not. */
  redeemable(value: string, domainPrefix: string, redirectUri: string): AuthorizationCode | Refusal;
  /** Whether this store has a code nobody has exchanged yet. */
  isWaiting(domainPrefix: string): boolean;
}

/** `replayOf`: the login that the code was exchanged for before. */
export interface Refusal {
  readonly refused: string;
  readonly replayOf?: Login;
}

/** Section 8: a code is good for ten minutes, once. */
const codeLifetimeMs = 600_000;

export function authorizationCodes(now: () => number): AuthorizationCodes {
  const codes = new Map<string, AuthorizationCode>(); // by fingerprint
  const isFresh = (code: AuthorizationCode) => now() - code.issuedAt <= codeLifetimeMs;

  /** A spent code stays until it is old, so that a second use is recognised (RFC 6749 4.1.2). */
  function forgetOld(): void {
    for (const [fingerprint, code] of codes) if (!isFresh(code)) codes.delete(fingerprint);
  }

  return {
    issue(domainPrefix, redirectUri, scopes) {
      forgetOld();
      const { value, kept } = newSecret("code");
      codes.set(kept.fingerprint, { domainPrefix, redirectUri, scopes, issuedAt: now() });
      return value;
    },
    redeemable(value, domainPrefix, redirectUri) {
      const code = codes.get(fingerprintOf(value));
      // The same words for another store's code: nobody should learn that it exists.
      if (!code || code.domainPrefix !== domainPrefix) return { refused: "This store issued no such code." };
      if (code.spentOn) return { refused: "This code has been used already.", replayOf: code.spentOn };
      if (!isFresh(code)) return { refused: "This code is older than ten minutes." };
      if (code.redirectUri !== redirectUri)
        return { refused: "redirect_uri is not the one the code was made for." };
      return code;
    },
    isWaiting: (domainPrefix) =>
      [...codes.values()].some(
        (code) => code.domainPrefix === domainPrefix && !code.spentOn && isFresh(code),
      ),
  };
}
