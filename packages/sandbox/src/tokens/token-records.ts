import { fingerprintOf } from "../secrets.js";

/** A token as the console's timeline knows it: by a name, never by its value. */
export interface TokenRecord {
  readonly kind: "access" | "refresh";
  /** "R2" is a store's second refresh token, "A3" its third access token. */
  readonly name: string;
  /** When its own time is over. A refresh token has none. */
  readonly expiresAt?: number;
  /** What ended it before that, if anything did. */
  readonly end?: TokenEnd;
  /** The refresh token that came in its place. */
  readonly replacedBy?: string;
}

/** `stopped`: the sandbox was asked to refuse it from then on. */
export type TokenEnd = "renewed" | "expired" | "stopped" | "revoked";

/** The latest tokens of one store. */
export interface TokenRecords {
  readonly all: readonly TokenRecord[];
  /** Answers its name. */
  add(kind: TokenRecord["kind"], value: string, expiresAt?: number): string;
  /** The token with this value, if it is remembered. */
  find(value: string): TokenRecord | undefined;
  /** Marks every live token whose fingerprint is not among these; answers the names. */
  endAllBut(accepted: ReadonlySet<string>, end: TokenEnd, replacedBy?: string): string[];
}

/** Of each kind and store. A spent refresh token that is older is no longer recognised. */
const most = 50;

type Kept = { -readonly [name in keyof TokenRecord]: TokenRecord[name] } & { readonly fingerprint: string };

export function tokenRecords(now: () => number): TokenRecords {
  const all: Kept[] = [];
  const count = { access: 0, refresh: 0 };

  /** The oldest that has ended, else the oldest: a live one is still of interest. */
  function forgetOne(kind: TokenRecord["kind"]): void {
    const ofKind = all.filter((token) => token.kind === kind);
    if (ofKind.length <= most) return;
    const oldest = ofKind.find((token) => hasEnded(token, now())) ?? ofKind[0];
    if (oldest) all.splice(all.indexOf(oldest), 1);
  }

  return {
    all,
    add(kind, value, expiresAt) {
      count[kind] += 1;
      const name = `${kind === "access" ? "A" : "R"}${count[kind]}`;
      all.push({
        kind,
        name,
        fingerprint: fingerprintOf(value),
        ...(expiresAt !== undefined && { expiresAt }),
      });
      forgetOne(kind);
      return name;
    },
    find(value) {
      const fingerprint = fingerprintOf(value);
      return all.find((token) => token.fingerprint === fingerprint);
    },
    endAllBut(accepted, end, replacedBy) {
      const ended = all.filter((token) => !hasEnded(token, now()) && !accepted.has(token.fingerprint));
      for (const token of ended) {
        token.end = end;
        if (replacedBy !== undefined && token.kind === "refresh") token.replacedBy = replacedBy;
      }
      return ended.map(({ name }) => name);
    },
  };
}

/** Whether something ended it, or its own time is over. */
export function hasEnded({ end, expiresAt }: TokenRecord, now: number): boolean {
  return end !== undefined || (expiresAt !== undefined && expiresAt <= now);
}
