/** Makes the versions of token sets, and recognises those of another application. */
export type Versions = ReturnType<typeof versionsOf>;

const SUFFIX = /~[0-9a-z]{7}$/;

/**
 * A version carries a suffix made from the client id. Two applications that share a store by mistake would otherwise
 * use, replace and delete each other's tokens: the refresh token of one is worthless to the other.
 */
export function versionsOf(clientId: string) {
  const suffix = `~${checksum(clientId)}`;
  return {
    /** A version that no other set has, in this process or another. */
    next: (): string => [crypto.randomUUID(), suffix].join(""), // a sum would stay in memory as its many pieces
    /** The given version with this application's suffix. */
    own: (version: string): string => (version.endsWith(suffix) ? version : version + suffix),
    /** Whether another application made it. `false` if it has no suffix: then it is from 0.1.0, or made by hand. */
    isForeign: (version: unknown): boolean =>
      typeof version === "string" && SUFFIX.test(version) && !version.endsWith(suffix),
  };
}

/**
 * Whether two versions of token sets carry the suffixes of two applications (client ids). A `save` without `replacing`,
 * which follows a login, should be refused by the store if the stored version and the new one do.
 *
 * @param one a `TokenSet.version`.
 * @param other another.
 * @returns `false` if one of them has no suffix, because then its application is unknown.
 */
export function areOfTwoApplications(one: string, other: string): boolean {
  return SUFFIX.test(one) && SUFFIX.test(other) && one.slice(-8) !== other.slice(-8);
}

const SEALED = "sealed:";

/**
 * The version under which a store that encrypts tokens keeps a set. The record says by it that it is sealed, in a place
 * that every process reads first: core refuses such a record unless the process opens the seal and takes the mark away.
 *
 * @param version the `TokenSet.version` of the set before it is sealed.
 */
export function sealedVersion(version: string): string {
  return SEALED + version;
}

/**
 * The version that a set had before it was sealed; the opposite of `sealedVersion`.
 *
 * @param version of a stored record.
 * @returns `undefined` if the record is not sealed.
 */
export function versionBeforeSealing(version: unknown): string | undefined {
  return typeof version === "string" && version.startsWith(SEALED) ? version.slice(SEALED.length) : undefined;
}

/** FNV-1a, 32 bits, as seven digits and letters. It catches mistakes, and stops no forger. */
export function checksum(text: string): string {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash.toString(36).padStart(7, "0");
}
