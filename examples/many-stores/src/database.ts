import type { Lock, TokenStore } from "@retail-pos/core";
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

/** Opens PostgreSQL if the settings name one, else the SQLite file. Makes the tables where they are missing. */
export function openDatabase(
  { databaseUrl, databaseFile }: Pick<Settings, "databaseUrl" | "databaseFile">,
  clock = Date.now,
): Promise<Database> {
  return databaseUrl === undefined ? openSqlite(databaseFile, clock) : openPostgres(databaseUrl);
}
