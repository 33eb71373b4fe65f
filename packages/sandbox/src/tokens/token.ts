import type { KeptSecret } from "../secrets.js";

/** A token as the service keeps it: by a name, never by its value, and for a while after its end too. */
export interface Token extends KeptSecret {
  readonly kind: "access" | "refresh";
  /** "R2" is a store's second refresh token, "A3" its third access token. */
  readonly name: string;
  readonly login: Login;
  readonly issuedAt: number;
  /** When its own time is over. A refresh token has none: `Infinity`. */
  expiresAt: number;
  /** What ended it before that, if anything did. */
  end?: TokenEnd;
  /** The refresh token that came in its place. */
  replacedBy?: string;
}

/** `stopped`: the sandbox was asked to refuse it from then on. */
export type TokenEnd = "renewed" | "expired" | "stopped" | "revoked";

/** One login of a store. Only a new login mends one whose refresh token has ended. */
export interface Login {
  /** Granted for as long as the login lasts; empty at a service without scopes. */
  readonly scopes: readonly string[];
  renewals: number;
  /** Its newest tokens. */
  access?: Token;
  refresh?: Token;
}

/** Whether something ended it, or its own time is over. */
export function hasEnded({ end, expiresAt }: Token, now: number): boolean {
  return end !== undefined || expiresAt <= now;
}
