import { createHash } from "node:crypto";

/** The names of the keys. In Redis Cluster, the text in braces decides which node has a key. */
export interface Keys {
  /** The beginning of all of them. */
  readonly prefix: string;
  /** A hash: one retailer's tokens. */
  tokens(domainPrefix: string): string;
  /** A lease, in the slot of its retailer's tokens. */
  lock(key: string): string;
  /** A lease that nobody releases. */
  claim(key: string): string;
  /** A sorted set: the names that a listing has found. */
  names(listing: string): string;
}

export function createKeys(prefix: string): Keys {
  return {
    prefix,
    tokens: (domainPrefix) => `${prefix}{${domainPrefix}}:tokens`,
    lock: (key) => `${prefix}{${retailerOf(key)}}:lock:${key}`,
    claim: (key) => `${prefix}claim:${digest(key)}`,
    names: (listing) => `${prefix}list:${listing}`,
  };
}

/** Core's keys end in the retailer. */
function retailerOf(key: string): string {
  return key.slice(key.lastIndexOf("/") + 1);
}

/** A claim's key may be of any length. */
function digest(key: string): string {
  return createHash("sha256").update(key).digest("hex");
}
