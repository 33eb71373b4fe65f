import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { sqliteTokens } from "@retail-pos/store-sqlite";
import Database from "libsql";

/** Tokens in one file, which outlives a restart. It is made where it is missing. */
export function openDatabase(file: string) {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, "", { flag: "a", mode: 0o600 }); // a new one holds tokens, and is for nobody else to read
  const database = new Database(file);
  return { ...sqliteTokens({ database }), close: () => void database.close() };
}
