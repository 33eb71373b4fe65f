import type { Lock, TokenStore } from "@retail-pos/core";
import { sealedStore } from "@retail-pos/sealed-store";
import type { Store as SessionStore } from "express-session";
import { openPostgres } from "./postgres.js";
import type { Settings } from "./settings.js";
import type { Sql } from "./sql.js";
import { openSqlite } from "./sqlite.js";

/** Everything that outlives a restart: tokens, sessions and the application's own tables, in one database. */
export interface Database {
  tokens: { store: TokenStore; lock: Lock };
  sessionStore: SessionStore;
  sql: Sql;
  close(): Promise<void>;
}

/**
 * Opens PostgreSQL if the settings name one, else the SQLite file. Makes the tables where they are missing. Tokens are
 * sealed if there is a key.
 */
export async function openDatabase(
  {
    databaseUrl,
    databaseFile,
    tokenKeys: keys,
  }: Pick<Settings, "databaseUrl" | "databaseFile"> & Partial<Settings>,
  clock = Date.now,
): Promise<Database> {
  const database = await (databaseUrl === undefined
    ? openSqlite(databaseFile, clock)
    : openPostgres(databaseUrl));
  if (keys) database.tokens.store = sealedStore(database.tokens.store, { keys });
  return database;
}
