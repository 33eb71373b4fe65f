import { randomUUID } from "node:crypto";
import type { DomainPrefix, RetailerStatus, TokenSet, TokenStore } from "@retail-pos/core";
import { retailerStatus, storePages } from "@retail-pos/core/authoring";
import type { Ask } from "./driver.js";
import { takeSql } from "./lock.js";
import { COLUMNS, claimKey, type Tables } from "./schema.js";

/** Each claim that is won removes at most this many ended ones. */
const MOST_CLEARED = 1000;

/** One row per retailer. A claim is a lease in the lock's table that nobody releases. */
export function createStore(ask: Ask, tables: Tables): TokenStore {
  const { read, put, replace, erase, page, take, clear } = createStatements(tables);
  const pages = storePages(`postgres ${tables.tokens}`);
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
        [...recordOf(next), ...(replacing ? [replacing.version] : [])],
      );
      return count === 1;
    },
    async remove(domainPrefix) {
      await ask({ operation: "remove", domainPrefix }, erase, [domainPrefix]);
    },
    async list(wanted) {
      const { limit, position = "" } = pages.asked(wanted);
      const { rows } = await ask({ operation: "list" }, page, [position, limit]);
      const retailers = rows.map(statusOf);
      if (rows.length < limit) return { retailers };
      return { retailers, cursor: pages.cursorAt(rows.at(-1)?.["domain_prefix"] as string) };
    },
    async claim(key, forMs) {
      const { count } = await ask({ operation: "claim" }, take, [claimKey(key), randomUUID(), forMs]);
      // If this fails, the claim is won all the same, and the next one removes them.
      if (count === 1) await ask({ operation: "claim" }, clear).catch(() => {});
      return count === 1;
    },
  };
}

/** A version that ends in another mark is of another application (client id): its set is not ours to replace. */
function isMarked(row: string): string {
  return `${row}.version ~ '~[0-9a-z]{7}$'`;
}

function createStatements({ tokens, locks }: Tables) {
  const columns = COLUMNS.join(", ");
  const values = COLUMNS.map((_, index) => `$${index + 1}`);
  const changes = COLUMNS.slice(1);
  return {
    // Numbers as text, because the application may have changed how the driver reads them.
    read: `
      SELECT domain_prefix, access_token, expires_at::text, refresh_token, issued_at::text, version, refused_at::text,
        refused_early_at::text, limited_until::text, scope
      FROM ${tokens} WHERE domain_prefix = $1`,
    put: `
      INSERT INTO ${tokens} AS stored (${columns}) VALUES (${values.join(", ")})
      ON CONFLICT (domain_prefix) DO UPDATE SET ${changes.map((column) => `${column} = excluded.${column}`).join(", ")}
      WHERE (${isMarked("stored")} AND ${isMarked("excluded")}
        AND right(stored.version, 8) <> right(excluded.version, 8)) IS NOT TRUE`,
    replace: `
      UPDATE ${tokens} SET ${changes.map((column, index) => `${column} = $${index + 2}`).join(", ")}
      WHERE domain_prefix = $1 AND version = $${COLUMNS.length + 1}`,
    erase: `DELETE FROM ${tokens} WHERE domain_prefix = $1`,
    // In the order of the primary key, which never changes: each row comes once, and a page costs only its own rows.
    page: `
      SELECT domain_prefix, issued_at::text, expires_at::text, refused_at::text, scope
      FROM ${tokens} WHERE domain_prefix > $1 ORDER BY domain_prefix LIMIT $2`,
    take: takeSql(locks),
    // now() and not clock_timestamp(), which no index can be searched by. A row that somebody else clears or claims
    // again at this moment is left to them.
    clear: `
      DELETE FROM ${locks} WHERE key IN (
        SELECT key FROM ${locks} WHERE key LIKE 'claim:%' AND ends_at <= now()
        ORDER BY ends_at LIMIT ${MOST_CLEARED} FOR UPDATE SKIP LOCKED)`,
  };
}

/** In the order of the columns. */
function recordOf({ access, ...set }: TokenSet): unknown[] {
  return [
    set.domainPrefix,
    access.value,
    access.expiresAt ?? null,
    set.refreshToken,
    set.issuedAt,
    set.version,
    set.refusedAt ?? null,
    set.refusedEarlyAt ?? null,
    set.limitedUntil ?? null,
    set.scope ?? null,
  ];
}

type Row = Record<string, unknown>;

/** The set in a row. Core checks that it is a token set. */
function setOf(row: Row): TokenSet {
  const [expiresAt, refusedAt] = [instantOrNone(row["expires_at"]), instantOrNone(row["refused_at"])];
  const refusedEarlyAt = instantOrNone(row["refused_early_at"]);
  const [limitedUntil, scope] = [instantOrNone(row["limited_until"]), row["scope"] as string | null];
  return {
    domainPrefix: row["domain_prefix"] as DomainPrefix,
    access: { value: row["access_token"] as string, ...(expiresAt !== undefined && { expiresAt }) },
    refreshToken: row["refresh_token"] as string,
    issuedAt: instant(row["issued_at"]),
    version: row["version"] as string,
    ...(refusedAt !== undefined && { refusedAt }),
    ...(refusedEarlyAt !== undefined && { refusedEarlyAt }),
    ...(limitedUntil !== undefined && { limitedUntil }),
    ...(scope !== null && { scope }),
  };
}

function statusOf(row: Row): RetailerStatus {
  return retailerStatus({
    domainPrefix: row["domain_prefix"],
    issuedAt: instant(row["issued_at"]),
    expiresAt: instantOrNone(row["expires_at"]),
    refusedAt: instantOrNone(row["refused_at"]),
    scope: row["scope"],
  });
}

function instantOrNone(text: unknown): number | undefined {
  return text === null ? undefined : instant(text);
}

/** NaN if it is no number: core's error then names the field. */
function instant(text: unknown): number {
  return typeof text === "string" && text.trim() !== "" ? Number(text) : Number.NaN;
}
