import type { DomainPrefix } from "./domain-prefix.js";
import { type AccessToken, quietAround, type TokenSet } from "./token-set.js";

/** Fields that few sets have. */
type Marks = Pick<TokenSet, "refusedAt" | "limitedUntil" | "scope">;

/**
 * This process's copy of one retailer's set. It is kept in pieces, because a process may serve a hundred thousand
 * retailers: all that a call needs is the access token, and an object more for each set would be 56 bytes.
 */
export class HeldSet {
  /** The copy's access token: the very object that is handed out. */
  access: AccessToken | undefined = undefined;
  readonly domainPrefix: DomainPrefix;

  #refreshToken = "";
  #issuedAt = 0;
  #version = "";
  #marks: Marks | undefined = undefined;

  constructor(domainPrefix: DomainPrefix) {
    this.domainPrefix = domainPrefix;
  }

  /** The whole set, put together anew for each who asks. */
  get set(): TokenSet | undefined {
    const { access, domainPrefix } = this;
    if (!access) return undefined;
    return quietAround(access, {
      domainPrefix,
      refreshToken: this.#refreshToken,
      issuedAt: this.#issuedAt,
      version: this.#version,
      ...this.#marks,
    });
  }

  /** Whether it is a copy of this very set; of none, if there is none. */
  isCopyOf(set: TokenSet | undefined): boolean {
    return set === undefined
      ? this.access === undefined
      : this.access !== undefined && this.#version === set.version;
  }

  protected copy(set: TokenSet | undefined): void {
    this.access = set && Object.freeze(set.access); // it is handed out
    this.#refreshToken = set?.refreshToken ?? "";
    this.#issuedAt = set?.issuedAt ?? 0;
    this.#version = set?.version ?? "";
    this.#marks = set && marksOf(set);
  }
}

function marksOf({ refusedAt, limitedUntil, scope }: TokenSet): Marks | undefined {
  if (refusedAt === undefined && limitedUntil === undefined && scope === undefined) return undefined;
  return { refusedAt, limitedUntil, scope } as Marks;
}
