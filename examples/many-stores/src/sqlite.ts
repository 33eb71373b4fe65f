import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { sqliteTokens } from "@retail-pos/store-sqlite";
import LibsqlDatabase from "libsql";
import type { Database } from "./database.js";
import { SessionStore } from "./session-store.js";
import type { Row, Sql, Statement } from "./sql.js";
import { TABLES } from "./tables.js";

/** Another process that writes, the nightly job beside the server, is waited for so long. */
const BUSY_MS = 5000;

/** Opens the file, which is made where it is missing. */
export async function openSqlite(file: string, clock = Date.now): Promise<Database> {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, "", { flag: "a", mode: 0o600 }); // a new one holds tokens, and is for nobody else to read
  // A connection for the tokens alone: a transaction open on the other one would take their writes along.
  const tokens = new LibsqlDatabase(file);
  const others = new LibsqlDatabase(file, { timeout: BUSY_MS });
  const kept = sqliteTokens({ database: tokens });
  others.exec("PRAGMA foreign_keys = ON");
  others.exec(TABLES.join(";\n"));
  return {
    tokens: kept,
    sessionStore: new SessionStore(others, clock),
    sql: sqlOn(others),
    async close() {
      tokens.close();
      others.close();
    },
  };
}

function sqlOn(database: LibsqlDatabase.Database): Sql {
  const run = ([sql, ...values]: Statement) => database.prepare(sql).all(...values) as Row[];
  return {
    query: async (...statement) => run(statement),
    async together(statements) {
      database.exec("BEGIN IMMEDIATE");
      try {
        for (const statement of statements) run(statement);
        database.exec("COMMIT");
      } catch (error) {
        database.exec("ROLLBACK");
        throw error;
      }
    },
  };
}
