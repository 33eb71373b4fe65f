import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { sqliteTokens } from "@retail-pos/store-sqlite";
import Database from "libsql";
import { SessionStore } from "./session-store.js";

/** What outlives a restart, tokens and sessions, in one file. It is made where it is missing. */
export function openDatabase(file: string, clock = Date.now) {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, "", { flag: "a", mode: 0o600 }); // a new one holds tokens, and is for nobody else to read
  // A connection for the tokens alone: a transaction open on the other one would take their writes along.
  const tokens = new Database(file);
  const others = new Database(file, { timeout: 1000 });
  return {
    ...sqliteTokens({ database: tokens }),
    sessionStore: new SessionStore(others, clock),
    close() {
      tokens.close();
      others.close();
    },
  };
}
