// The module that the commands of `retail-pos` are given, in test/leak.test.ts.
import { retailPos, settingsFromEnv } from "@retail-pos/core";
import { sealedStore } from "@retail-pos/sealed-store";
import { sqliteTokens } from "@retail-pos/store-sqlite";
import Database from "libsql";

const { DATABASE_FILE, KEYS } = process.env;
const tokens = sqliteTokens({ database: new Database(DATABASE_FILE) });
export const store = sealedStore(tokens.store, { keys: JSON.parse(KEYS) });
export const client = retailPos({ ...settingsFromEnv(), lock: tokens.lock, store });
