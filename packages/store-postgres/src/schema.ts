import { createHash } from "node:crypto";
import { COLUMNS } from "@retail-pos/core/authoring";
import { answerOf, failure, type PostgresPool, run } from "./driver.js";

/** The two tables and their index, quoted: ready to stand in a statement. */
export interface Tables {
  readonly tokens: string;
  readonly locks: string;
  /** `name`: without a schema, as CREATE INDEX wants it. `path`: with the schema of its table, where it is made. */
  readonly ends: { readonly name: string; readonly path: string };
}

/** PostgreSQL cuts longer names off; `_lock` and `_ends` have to fit behind. */
const LONGEST_NAME = 63 - "_lock".length;

/** @throws {TypeError} when `table` is not a name, or a schema's name, a dot and a name. */
export function tablesAt(table: unknown): Tables {
  const names = typeof table === "string" ? table.split(".") : [];
  if (names.length < 1 || names.length > 2 || !names.every(isName)) {
    throw new TypeError(
      `table must be a name, or schema.name, of letters, digits, "_", "-" and "$", at most ${LONGEST_NAME} bytes each`,
    );
  }
  const quoted = (suffix: string) => `"${names.join('"."')}${suffix}"`;
  return {
    tokens: quoted(""),
    locks: quoted("_lock"),
    ends: { name: `"${names.at(-1)}_ends"`, path: quoted("_ends") },
  };
}

function isName(text: string): boolean {
  return /^[\p{L}_][\p{L}\p{N}_$-]*$/u.test(text) && Buffer.byteLength(text) <= LONGEST_NAME;
}

/** A key may be of any length, an index entry may not. */
export function claimKey(key: string): string {
  return `claim:${createHash("sha256").update(key).digest("hex")}`;
}

/**
 * The tables. `schema.sql` of this package is this text for the default name. Instants are epoch
 * milliseconds; a lease ends on the database's own clock.
 */
export function schemaSql({ tokens, locks, ends }: Tables): string {
  return `-- The tables of @retail-pos/store-postgres.
CREATE TABLE IF NOT EXISTS ${tokens} (
  domain_prefix    text PRIMARY KEY,
  access_token     text NOT NULL,
  expires_at       double precision,
  refresh_token    text NOT NULL,
  issued_at        double precision NOT NULL,
  version          text NOT NULL,
  refused_at       double precision,
  refused_early_at double precision,
  limited_until    double precision,
  scope            text
);
-- Unlogged: who holds a lock need not outlive the server, and taking one waits for no disk.
CREATE UNLOGGED TABLE IF NOT EXISTS ${locks} (
  key      text PRIMARY KEY,
  owner    text NOT NULL,
  ends_at  timestamptz NOT NULL
);
-- Claims that have ended are cleared away by it.
CREATE INDEX IF NOT EXISTS ${ends.name} ON ${locks} (ends_at) WHERE key LIKE 'claim:%';
`;
}

/** Makes what is missing. Needs no right to create anything if nothing is; what runs beside it goes on. */
export async function migrate(pool: PostgresPool, tables: Tables): Promise<void> {
  const { tokens, locks, ends } = tables;
  try {
    const { rows } = await answerOf(pool, IS_DONE, [tokens, locks, ends.path, COLUMNS.length]);
    if (rows[0]?.["other"] === true) throw new Error("it has other columns than those of schema.sql");
    if (rows[0]?.["done"] === true) return;
    // One message without parameters is one transaction. The lock is for CREATE TABLE IF NOT EXISTS, which
    // fails when two run it at once.
    const alone = "SELECT pg_advisory_xact_lock(hashtext('@retail-pos/store-postgres'))";
    await run(pool, `${alone};\n${schemaSql(tables)}`);
  } catch (error) {
    throw failure(pool, `create the tables ${tokens} and ${locks}`, error);
  }
}

// A table that another process makes meanwhile has a name before it has columns: to_regclass sees what was
// committed just now, pg_class and pg_attribute what had been when the statement began.
const IS_DONE = `
  SELECT to_regclass($2) IS NOT NULL AND to_regclass($3) IS NOT NULL AND count(*) = $4 AS done,
    EXISTS (SELECT FROM pg_class WHERE oid = to_regclass($1)) AND count(*) < $4 AS other
  FROM pg_attribute WHERE attrelid = to_regclass($1) AND attname IN ('${COLUMNS.join("', '")}') AND NOT attisdropped`;
