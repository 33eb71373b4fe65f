import { type DomainPrefix, StoredTokensError, type TokenSet } from "@retail-pos/core";
import { sealedVersion, versionBeforeSealing } from "@retail-pos/core/authoring";
import { CompactEncrypt, compactDecrypt, decodeProtectedHeader } from "jose";
import { isKeyId, type Keys } from "./keys.js";

/** Makes sealed records of token sets, and token sets of sealed records. */
export interface Sealer {
  seal(set: TokenSet): Promise<TokenSet>;
  /**
   * A record that is not sealed stays as it is.
   *
   * @throws {StoredTokensError} naming the problem, never a token.
   */
  open(record: TokenSet, domainPrefix: DomainPrefix): Promise<TokenSet>;
  /**
   * The key that a record is sealed with: of the first of `keys` only if both tokens are. No token is opened.
   *
   * @throws {StoredTokensError} a token is no seal.
   */
  keyOf(record: TokenSet, domainPrefix: DomainPrefix): string;
}

/** A seal is bound to this, and cannot be opened for any other. */
interface Place {
  readonly domainPrefix: DomainPrefix;
  readonly version: string;
  /** Which of the two tokens, or they could be swapped within a record. */
  readonly part: "access" | "refresh";
}

const OPENED_ALGORITHMS = {
  keyManagementAlgorithms: ["dir"],
  contentEncryptionAlgorithms: ["A256GCM"],
};

const inRecord = { access: "access.value", refresh: "refreshToken" } as const;

/** Each token becomes a compact JWE (RFC 7516), encrypted with the key itself and a nonce of its own. */
export function sealer(keys: Keys): Sealer {
  return {
    async seal(set) {
      const { domainPrefix, version, access, refreshToken } = set;
      // A copy, because the caller may change its set meanwhile.
      const record = { ...withoutTokens(set), version: sealedVersion(version) };
      const [accessSeal, refreshSeal] = await Promise.all([
        sealToken(access.value, { domainPrefix, version, part: "access" }),
        sealToken(refreshToken, { domainPrefix, version, part: "refresh" }),
      ]);
      return withTokens(record, accessSeal, refreshSeal);
    },
    async open(record, domainPrefix) {
      const version = versionBeforeSealing(record.version);
      if (version === undefined) return record;
      const value = await openToken(record.access?.value, { domainPrefix, version, part: "access" });
      const refreshToken = await openToken(record.refreshToken, { domainPrefix, version, part: "refresh" });
      return { ...withTokens(record, value, refreshToken), version };
    },
    keyOf({ access, refreshToken }, domainPrefix) {
      const ids = [
        keyIdOf(access?.value, "access", domainPrefix),
        keyIdOf(refreshToken, "refresh", domainPrefix),
      ];
      return ids.find((id) => id !== keys.first.id) ?? keys.first.id;
    },
  };

  async function sealToken(token: string, { domainPrefix, version, part }: Place): Promise<string> {
    const { id: kid, secret } = keys.first;
    // Anybody can read it, and only a holder of the key can change it (RFC 7516, 5.1).
    const header = { alg: "dir", enc: "A256GCM", kid, retailer: domainPrefix, version, part };
    return new CompactEncrypt(Buffer.from(token)).setProtectedHeader(header).encrypt(secret);
  }

  async function openToken(text: unknown, { domainPrefix, version, part }: Place): Promise<string> {
    const kid = keyIdOf(text, part, domainPrefix);
    const fail = failing(part, domainPrefix);
    const secret =
      keys.secretOf(kid) ??
      fail(
        `is sealed with the key "${kid}", which is not among keys`,
        "Give that key too, behind the first one",
      );
    // The library does not say why it fails, so that nobody learns from it.
    const { plaintext, protectedHeader } = await compactDecrypt(
      String(text),
      secret,
      OPENED_ALGORITHMS,
    ).catch(() =>
      fail(
        `was changed after it was sealed, or the key "${kid}" has another secret now`,
        "Mend the secret if it is wrong; if it is right, logging in again replaces the record",
      ),
    );
    const sealedFor: Record<string, unknown> = protectedHeader;
    if (sealedFor["retailer"] !== domainPrefix) fail("was sealed for another retailer");
    if (sealedFor["version"] !== version) fail("was sealed for another version of the record");
    if (sealedFor["part"] !== part) fail("was sealed as the other token of the record");
    return Buffer.from(plaintext).toString();
  }
}

/** A store compares versions only, so a set that is replaced needs no tokens. */
export function withoutTokens(set: TokenSet): TokenSet {
  return withTokens(set, "sealed", "sealed");
}

function withTokens(set: TokenSet, value: string, refreshToken: string): TokenSet {
  return { ...set, access: { ...set.access, value }, refreshToken };
}

/** Not to be trusted yet: anybody who can write to the store can write this. */
function keyIdOf(text: unknown, part: Place["part"], domainPrefix: DomainPrefix): string {
  const fail = failing(part, domainPrefix);
  try {
    const { kid } = decodeProtectedHeader(String(text));
    if (isKeyId(kid)) return kid;
  } catch {} // no JWE
  return fail("is not sealed");
}

function failing(
  part: Place["part"],
  domainPrefix: DomainPrefix,
): (problem: string, remedy?: string) => never {
  return (problem, remedy) => {
    throw new StoredTokensError(`${inRecord[part]} ${problem}`, { domainPrefix }, remedy);
  };
}
