import { createHash, randomUUID } from "node:crypto";
import type { DomainPrefix, TokenSet, TokenStore } from "@retail-pos/core";
import type { Ask } from "./pool.js";
import { takeSql } from "./postgres-lock.js";
import type { Tables } from "./schema.js";

/** So many ended claims, at most, are cleared away by one that is won. */
const MOST_CLEARED = 1000;

/** One row per retailer. A claim is a lease in the lock's table that nobody releases. */
export function postgresStore(ask: Ask, { tokens, locks }: Tables): TokenStore {
  const put = `
    INSERT INTO ${tokens}
      (domain_prefix, access_token, expires_at, refresh_token, issued_at, version, refused_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7)
    ON CONFLICT (domain_prefix) DO UPDATE SET
      access_token = excluded.access_token, expires_at = excluded.expires_at,
      refresh_token = excluded.refresh_token, issued_at = excluded.issued_at,
      version = excluded.version, refused_at = excluded.refused_at`;
  const replace = `
    UPDATE ${tokens} SET
      access_token = $2, expires_at = $3, refresh_token = $4, issued_at = $5, version = $6, refused_at = $7
    WHERE domain_prefix = $1 AND version = $8`;
  // Numbers as text: how the driver reads them may have been changed by the application.
  const read = `
    SELECT domain_prefix, access_token, expires_at::text, refresh_token, issued_at::text, version, refused_at::text
    FROM ${tokens} WHERE domain_prefix = $1`;
  const erase = `DELETE FROM ${tokens} WHERE domain_prefix = $1`;
  const take = takeSql(locks);
  // now() and not clock_timestamp(), which no index can be searched by. A row that somebody else clears or claims
  // again at this moment is left to them.
  const clear = `
    DELETE FROM ${locks} WHERE key IN (
      SELECT key FROM ${locks} WHERE key LIKE 'claim:%' AND ends_at <= now()
      ORDER BY ends_at LIMIT ${MOST_CLEARED} FOR UPDATE SKIP LOCKED)`;

  return {
    async load(domainPrefix) {
      const { rows } = await ask({ operation: "load", domainPrefix }, read, [domainPrefix]);
      return rows[0] && setOf(rows[0]);
    },
    async save(next, replacing) {
      const { domainPrefix, access, refreshToken } = next;
      const { count } = await ask(
        { operation: "save", domainPrefix, secrets: [access.value, refreshToken] },
        replacing ? replace : put,
        [...rowOf(next), ...(replacing ? [replacing.version] : [])],
      );
      return count === 1;
    },
    async remove(domainPrefix) {
      await ask({ operation: "remove", domainPrefix }, erase, [domainPrefix]);
    },
    async claim(key, forMs) {
      const lease = [`claim:${digest(key)}`, randomUUID(), forMs];
      const { count } = await ask({ operation: "claim" }, take, lease);
      // The claim is won, whether or not this succeeds: the next one clears what is left.
      if (count === 1) await ask({ operation: "claim" }, clear).catch(() => {});
      return count === 1;
    },
  };
}

/** A key may be of any length, an index entry may not. */
function digest(key: string): string {
  return createHash("sha256").update(key).digest("hex");
}

function rowOf({ domainPrefix, access, refreshToken, issuedAt, version, refusedAt }: TokenSet): unknown[] {
  return [
    domainPrefix,
    access.value,
    access.expiresAt ?? null,
    refreshToken,
    issuedAt,
    version,
    refusedAt ?? null,
  ];
}

/** What the row says; core checks that it is a token set. */
function setOf(row: Record<string, unknown>): TokenSet {
  return {
    domainPrefix: row["domain_prefix"] as DomainPrefix,
    access: {
      value: row["access_token"] as string,
      ...(row["expires_at"] !== null && { expiresAt: instant(row["expires_at"]) }),
    },
    refreshToken: row["refresh_token"] as string,
    issuedAt: instant(row["issued_at"]),
    version: row["version"] as string,
    ...(row["refused_at"] !== null && { refusedAt: instant(row["refused_at"]) }),
  };
}

/** NaN for what is no number: core then names the field. */
function instant(text: unknown): number {
  return typeof text === "string" && text.trim() !== "" ? Number(text) : Number.NaN;
}
