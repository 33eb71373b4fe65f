import { randomBytes, randomUUID } from "node:crypto";
import type { DomainPrefix, TokenSet } from "@retail-pos/core";

/** A name that no retailer has: beside real data the tests write and remove nothing else. */
export const randomRetailer = (): DomainPrefix =>
  `contract-${randomBytes(9).toString("hex")}` as DomainPrefix;

export const newVersion = (): string => randomBytes(12).toString("base64url");

/** A version as core makes it, behind a text as a sealed store puts one: a store keeps and compares every letter. */
export const newLongVersion = (): string => `mark:${randomUUID()}~0a1b2c3`;

/** A set like no other. */
export function newSet(domainPrefix: DomainPrefix): TokenSet {
  return {
    domainPrefix,
    access: { value: `access-${newVersion()}`, expiresAt: 1_767_225_600_123 },
    refreshToken: `refresh-${newVersion()}`,
    issuedAt: 1_767_139_200_456,
    version: newVersion(),
  };
}
