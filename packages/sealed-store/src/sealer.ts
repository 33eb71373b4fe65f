import { type DomainPrefix, StoredTokensError } from "@retail-pos/core";
import { CompactEncrypt, compactDecrypt, decodeProtectedHeader } from "jose";
import { isKeyId, type Keys } from "./keys.js";

/** A seal is bound to this, and cannot be opened for any other. */
export interface Place {
  readonly domainPrefix: DomainPrefix;
  readonly version: string;
}

/** Which of the two tokens, or they could be swapped within a record. */
export type Part = "access" | "refresh";

export interface Sealer {
  seal(token: string, part: Part, place: Place): Promise<string>;
  /** @throws {StoredTokensError} naming the problem, never a token. */
  open(text: unknown, part: Part, place: Place): Promise<string>;
  /** @throws {StoredTokensError} it is no seal of ours. */
  keyIdOf(text: unknown, part: Part, domainPrefix: DomainPrefix): string;
}

/** The protected header: anybody can read it, and only a holder of the key can change it (RFC 7516, 5.1). */
interface Header {
  readonly alg: "dir";
  readonly enc: "A256GCM";
  readonly kid: string;
  readonly retailer: string;
  readonly version: string;
  readonly part: Part;
}

const inRecord = { access: "access.value", refresh: "refreshToken" } as const;

/** Compact JWEs (RFC 7516), encrypted with the key itself and a nonce of their own. */
export function sealer(keys: Keys): Sealer {
  return { seal, open, keyIdOf };

  async function seal(token: string, part: Part, { domainPrefix, version }: Place): Promise<string> {
    const { id: kid, secret } = keys.first;
    const header: Header = { alg: "dir", enc: "A256GCM", kid, retailer: domainPrefix, version, part };
    return new CompactEncrypt(Buffer.from(token)).setProtectedHeader({ ...header }).encrypt(secret);
  }

  async function open(text: unknown, part: Part, place: Place): Promise<string> {
    const kid = keyIdOf(text, part, place.domainPrefix);
    const fail = failing(part, place.domainPrefix);
    const secret =
      keys.secretOf(kid) ??
      fail(
        `is sealed with the key "${kid}", which is not among keys`,
        "Give that key too, behind the first one",
      );
    const { token, header } =
      (await decrypted(text as string, secret)) ??
      fail(
        `was changed after it was sealed, or the key "${kid}" has another secret now`,
        "Mend the secret if it is wrong; if it is right, logging in again replaces the record",
      );
    if (header.retailer !== place.domainPrefix) fail("was sealed for another retailer");
    if (header.version !== place.version) fail("was sealed for another version of the record");
    if (header.part !== part) fail("was sealed as the other token of the record");
    return token;
  }

  function keyIdOf(text: unknown, part: Part, domainPrefix: DomainPrefix): string {
    return kidIn(text) ?? failing(part, domainPrefix)("is not sealed");
  }
}

function failing(part: Part, domainPrefix: DomainPrefix): (problem: string, remedy?: string) => never {
  return (problem, remedy) => {
    throw new StoredTokensError(`${inRecord[part]} ${problem}`, { domainPrefix }, remedy);
  };
}

/** Not to be trusted yet: anybody who can write to the store can write this. */
function kidIn(text: unknown): string | undefined {
  try {
    const { kid } = decodeProtectedHeader(String(text));
    return isKeyId(kid) ? kid : undefined;
  } catch {
    return undefined;
  }
}

async function decrypted(
  jwe: string,
  secret: Uint8Array,
): Promise<{ token: string; header: Header } | undefined> {
  try {
    const { plaintext, protectedHeader } = await compactDecrypt(jwe, secret, {
      keyManagementAlgorithms: ["dir"],
      contentEncryptionAlgorithms: ["A256GCM"],
    });
    return { token: Buffer.from(plaintext).toString(), header: protectedHeader as unknown as Header };
  } catch {
    return undefined; // the library does not say why, so that nobody learns from it
  }
}
