import { createHash, randomUUID } from "node:crypto";
import { type DomainPrefix, StoredTokensError, type TokenSet, type TokenStore } from "@retail-pos/core";
import { forgetPages, type SqliteDatabase, write } from "./database.js";
import { insistently, patiently } from "./patience.js";
import type { Tables } from "./schema.js";

/** A row as it comes out of the file: anybody may have edited it. */
type Row = { readonly [column in (typeof columns)[number]]?: unknown };

const columns = [
  "version",
  "access_token",
  "access_expires_at",
  "refresh_token",
  "issued_at",
  "refused_at",
] as const;

/** So many ended claims, at most, are cleared away by one that is made. */
const MOST_CLEARED = 1000;

/**
 * One row per retailer. Each write is one transaction, so that what is stored is always a whole set. A claim is a
 * lease in the lock's table that nobody releases.
 */
export function sqliteStore(database: SqliteDatabase, { tokens: table, locks }: Tables): TokenStore {
  const assigned = columns.map((column) => `${column} = excluded.${column}`);
  const select = prepare(`SELECT ${columns} FROM ${table} WHERE domain_prefix = ?`);
  const put = prepare(
    `INSERT INTO ${table} (${columns}, domain_prefix) VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (domain_prefix) DO UPDATE SET ${assigned}`,
  );
  const replace = prepare(
    `UPDATE ${table} SET ${columns.map((column) => `${column} = ?`)} WHERE domain_prefix = ? AND version = ?`,
  );
  const drop = prepare(`DELETE FROM ${table} WHERE domain_prefix = ?`);
  const findClaim = prepare(`SELECT 1 FROM ${locks} WHERE key = ? AND owner <> ? AND expires_at > ?`, locks);
  const takeClaim = prepare(
    `INSERT INTO ${locks} (key, owner, expires_at) VALUES (?, ?, ?)
     ON CONFLICT (key) DO UPDATE SET owner = excluded.owner, expires_at = excluded.expires_at
     WHERE owner = excluded.owner OR expires_at <= ?`,
    locks,
  );
  const clearClaims = prepare(
    `DELETE FROM ${locks} WHERE key IN (SELECT key FROM ${locks}
     WHERE key LIKE 'claim:%' AND expires_at <= ? ORDER BY expires_at LIMIT ${MOST_CLEARED})`,
    locks,
  );

  return {
    async load(domainPrefix) {
      const row = await patiently({ operation: "load", domainPrefix }, () => select.get(domainPrefix)).catch(
        (error) => {
          throw isTooLarge(error) ? unusable(domainPrefix, "it holds a number that is no instant") : error;
        },
      );
      return row === undefined || row === null ? undefined : setIn(row, domainPrefix);
    },
    async save(next, replacing) {
      const { domainPrefix, access, refreshToken } = next;
      const values = valuesOf(next);
      const { changes } = await patiently(
        { operation: "save", domainPrefix, secrets: [access.value, refreshToken] },
        () =>
          write(database, () => (replacing ? replace.run(...values, replacing.version) : put.run(...values))),
      );
      return Number(changes) === 1;
    },
    async remove(domainPrefix) {
      await patiently({ operation: "remove", domainPrefix }, () =>
        write(database, () => drop.run(domainPrefix)),
      );
      forgetPages(database);
    },
    async claim(key, forMs) {
      const [hash, owner] = [`claim:${digest(key)}`, randomUUID()];
      return patiently({ operation: "claim" }, () => {
        const now = Date.now();
        // To look first, which no writer keeps waiting.
        if (findClaim.get(hash, owner, now)) return false;
        const { changes } = write(database, () => {
          clearClaims.run(now);
          return takeClaim.run(hash, owner, Math.ceil(now + forMs), now);
        });
        return Number(changes) === 1;
      });
    },
  };

  /** Fails here, at construction, where the table has other columns than ours. */
  function prepare(sql: string, of = table) {
    return insistently(`use the table ${of}`, () => database.prepare(sql));
  }
}

/** A key may be of any length, and hold characters that no driver takes. */
function digest(key: string): string {
  return createHash("sha256").update(key).digest("hex");
}

/** In the order of the columns, the retailer last. */
function valuesOf({
  domainPrefix,
  access,
  refreshToken,
  issuedAt,
  version,
  refusedAt,
}: TokenSet): (string | number | null)[] {
  const { value, expiresAt } = access;
  return [version, value, expiresAt ?? null, refreshToken, issuedAt, refusedAt ?? null, domainPrefix];
}

/** @throws {StoredTokensError} naming the column, never its value. */
function setIn(row: Row, domainPrefix: DomainPrefix): TokenSet {
  const expiresAt = instantOrNone("access_expires_at");
  const refusedAt = instantOrNone("refused_at");
  return {
    domainPrefix,
    access: { value: text("access_token"), ...(expiresAt !== undefined && { expiresAt }) },
    refreshToken: text("refresh_token"),
    issuedAt: instantOrNone("issued_at") ?? fail("issued_at is missing"),
    version: text("version"),
    ...(refusedAt !== undefined && { refusedAt }),
  };

  function text(column: keyof Row): string {
    const value = row[column];
    return typeof value === "string" && value !== "" ? value : fail(`${column} is no text`);
  }

  function instantOrNone(column: keyof Row): number | undefined {
    const value = row[column];
    if (value === null || value === undefined) return undefined;
    const instant = typeof value === "bigint" ? Number(value) : value; // as some drivers give integers
    return typeof instant === "number" && Number.isFinite(instant)
      ? instant
      : fail(`${column} is no instant`);
  }

  function fail(problem: string): never {
    throw unusable(domainPrefix, problem);
  }
}

function unusable(domainPrefix: DomainPrefix, problem: string): StoredTokensError {
  return new StoredTokensError(problem, { domainPrefix });
}

/** How `node:sqlite` refuses an integer beyond 2^53. */
function isTooLarge(error: unknown): boolean {
  return Object(Object(error).cause).code === "ERR_OUT_OF_RANGE";
}
