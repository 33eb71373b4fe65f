import { randomUUID } from "node:crypto";
import { StoredTokensError, type TokenStore } from "@retail-pos/core";
import {
  COLUMNS,
  columnOf,
  FIELDS,
  flatRecord,
  setInFlatRecord,
  statusInFlatRecord,
  storePages,
} from "@retail-pos/core/authoring";
import { cutLog, withoutWaiting } from "./connection.js";
import { type Ask, type SqliteDatabase, write } from "./driver.js";
import { createTake } from "./lock.js";
import { claimKey, type Tables } from "./schema.js";

/** Each claim that is won removes at most this many ended ones. */
const MOST_CLEARED = 1000;
/** No claim lasts so long: none counts as over before its end. */
const LONGEST_CLAIM_MS = 1e15;

/**
 * One row per retailer. Each write is one transaction, so that what is stored is always a whole set. A claim is a
 * lease in the lock's table that nobody releases.
 */
export function createStore(ask: Ask, tables: Tables, database: SqliteDatabase): TokenStore {
  const { read, put, replace, erase, page, clear } = createStatements(tables);
  const take = createTake(ask, tables.locks, LONGEST_CLAIM_MS);
  const pages = storePages(`sqlite ${tables.tokens}`);
  return {
    async load(domainPrefix) {
      const { rows } = await ask({ operation: "load", domainPrefix }, read, [domainPrefix]).catch((error) => {
        if (!isTooLarge(error)) throw error;
        throw new StoredTokensError("it holds a number that is no instant", { domainPrefix });
      });
      return rows[0] && setInFlatRecord(rows[0]);
    },
    async save(next, replacing) {
      const { domainPrefix, access, refreshToken } = next;
      const { count } = await ask(
        { operation: "save", domainPrefix, secrets: [access.value, refreshToken] },
        replacing ? replace : put,
        [...flatRecord(next), ...(replacing ? [domainPrefix, replacing.version] : [])],
      );
      return count === 1;
    },
    async remove(domainPrefix) {
      await ask({ operation: "remove", domainPrefix }, erase, [domainPrefix]);
      cutLog(database);
    },
    async list(wanted) {
      const { limit, position = "" } = pages.asked(wanted);
      const { rows } = await ask({ operation: "list" }, page, [position, limit]);
      const retailers = rows.map(statusInFlatRecord);
      const last = rows.at(-1)?.["domainPrefix"];
      // Names edited into bytes come after all texts, and no page can begin behind one.
      if (rows.length < limit || typeof last !== "string") return { retailers };
      return { retailers, cursor: pages.cursorAt(last) };
    },
    async claim(key, forMs) {
      const lease = { key: claimKey(key), owner: randomUUID(), leaseMs: forMs };
      const isWon = await take({ operation: "claim" }, lease);
      // The claim is won also if this is left to the next one.
      if (isWon)
        withoutWaiting(database, () => write(database, () => database.prepare(clear).run(Date.now())));
      return isWon;
    },
  };
}

/** A version that ends in another mark is of another application (client id): its set is not ours to replace. */
function isMarked(version: string): string {
  return `${version} GLOB '*~${"[0-9a-z]".repeat(7)}'`;
}

function createStatements({ tokens, locks }: Tables) {
  const changes = COLUMNS.map((column) => `${column} = excluded.${column}`);
  return {
    read: `SELECT ${FIELDS.map((field) => `${columnOf(field)} AS "${field}"`)} FROM ${tokens} WHERE domain_prefix = ?`,
    put: `
      INSERT INTO ${tokens} (${COLUMNS}) VALUES (${COLUMNS.map(() => "?")})
      ON CONFLICT (domain_prefix) DO UPDATE SET ${changes}
      WHERE (${isMarked(`${tokens}.version`)} AND ${isMarked("excluded.version")}
        AND substr(${tokens}.version, -8) <> substr(excluded.version, -8)) IS NOT TRUE`,
    replace: `
      UPDATE ${tokens} SET ${COLUMNS.map((column) => `${column} = ?`)} WHERE domain_prefix = ? AND version = ?`,
    erase: `DELETE FROM ${tokens} WHERE domain_prefix = ?`,
    // In the order of the primary key, which never changes: each row comes once, and a page costs only its own rows.
    page: `
      SELECT domain_prefix AS "domainPrefix", ${instants("issuedAt", "expiresAt", "refusedAt")}, scope
      FROM ${tokens} WHERE domain_prefix > ? ORDER BY domain_prefix LIMIT ?`,
    clear: `
      DELETE FROM ${locks} WHERE key IN (
        SELECT key FROM ${locks} WHERE key LIKE 'claim:%' AND ends_at <= ? ORDER BY ends_at LIMIT ${MOST_CLEARED})`,
  };
}

/** As floating-point numbers: if a driver refused an integer, the whole page would fail, and not only its row. */
function instants(...fields: string[]): string {
  const asReal = (column: string, field: string) =>
    `CASE typeof(${column}) WHEN 'integer' THEN CAST(${column} AS REAL) ELSE ${column} END AS "${field}"`;
  return fields.map((field) => asReal(columnOf(field), field)).join(", ");
}

/** How `node:sqlite` refuses an integer beyond 2^53. */
function isTooLarge(error: unknown): boolean {
  return Object(Object(error).cause).code === "ERR_OUT_OF_RANGE";
}
