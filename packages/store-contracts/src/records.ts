import { randomBytes } from "node:crypto";
import type { DomainPrefix, TokenSet } from "@retail-pos/core";

/** A retailer nobody else uses: the store under test need not be empty. */
export const randomRetailer = (): DomainPrefix =>
  `contract-${randomBytes(9).toString("hex")}` as DomainPrefix;

export const newVersion = (): string => randomBytes(12).toString("base64url");

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
