import { randomUUID } from "node:crypto";
import type { TokenStore } from "@retail-pos/core";
import {
  COLUMNS,
  columnOf,
  FIELDS,
  flatRecord,
  setInFlatRecord,
  statusInFlatRecord,
  storePages,
} from "@retail-pos/core/authoring";
import type { Ask } from "./driver.js";
import { takeSql } from "./lock.js";
import { claimKey, type Tables } from "./schema.js";

/** Each claim that is won removes at most this many ended ones. */
const MOST_CLEARED = 1000;

/** One row per retailer. A claim is a lease in the lock's table that nobody releases. */
export function createStore(ask: Ask, tables: Tables): TokenStore {
  const { read, put, replace, erase, page, take, clear } = createStatements(tables);
  const pages = storePages(`postgres ${tables.tokens}`);
  return {
    async load(domainPrefix) {
      const { rows } = await ask({ operation: "load", domainPrefix }, read, [domainPrefix]);
      return rows[0] && setInFlatRecord(rows[0]);
    },
    async save(next, replacing) {
      const { domainPrefix, access, refreshToken } = next;
      const { count } = await ask(
        { operation: "save", domainPrefix, secrets: [access.value, refreshToken] },
        replacing ? replace : put,
        [...flatRecord(next), ...(replacing ? [replacing.version] : [])],
      );
      return count === 1;
    },
    async remove(domainPrefix) {
      await ask({ operation: "remove", domainPrefix }, erase, [domainPrefix]);
    },
    async list(wanted) {
      const { limit, position = "" } = pages.asked(wanted);
      const { rows } = await ask({ operation: "list" }, page, [position, limit]);
      const retailers = rows.map(statusInFlatRecord);
      if (rows.length < limit) return { retailers };
      return { retailers, cursor: pages.cursorAt(rows.at(-1)?.["domainPrefix"] as string) };
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

/** As text, because the application may have changed how the driver reads numbers. */
function selected(fields: readonly string[]): string {
  return fields.map((field) => `${columnOf(field)}::text AS "${field}"`).join(", ");
}

function createStatements({ tokens, locks }: Tables) {
  const columns = COLUMNS.join(", ");
  const values = COLUMNS.map((_, index) => `$${index + 1}`);
  const changes = COLUMNS.slice(1);
  return {
    read: `SELECT ${selected(FIELDS)} FROM ${tokens} WHERE domain_prefix = $1`,
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
      SELECT ${selected(["domainPrefix", "issuedAt", "expiresAt", "refusedAt", "scope"])}
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
