import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { type RetailPos, type RetailPosEvent, type RetailPosOptions, retailPos } from "@retail-pos/core";
import { sealedStore } from "@retail-pos/sealed-store";
import { sqliteTokens } from "@retail-pos/store-sqlite";
import Sqlite from "libsql";
import { memberships } from "./memberships.js";
import { Records } from "./records.js";
import { SessionStore } from "./session-store.js";
import type { Settings } from "./settings.js";

/** Tokens, sessions and the application's own tables, in one file. The server and the nightly job each open it. */
export function openDatabase({ DATABASE_FILE: file, TOKEN_KEYS: keys }: OfFile, clock = Date.now) {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, "", { flag: "a", mode: 0o600 }); // it holds tokens: other users of this machine must not read it
  const tokens = new Sqlite(file); // its own connection: a transaction on a shared one would include its writes
  const others = new Sqlite(file, { timeout: 5000 }); // waits so long while the other process writes
  const { store, lock } = sqliteTokens({ database: tokens });
  return {
    tokens: { store: keys.length > 0 ? sealedStore(store, { keys }) : store, lock },
    records: new Records(others),
    sessions: new SessionStore(others, clock),
    close() {
      tokens.close();
      others.close();
    },
  };
}
type OfFile = Pick<Settings, "DATABASE_FILE" | "TOKEN_KEYS">;
export type Database = ReturnType<typeof openDatabase>;

/** The client of the service on those tokens, and who may act for which store. */
export function openClient(
  { service }: Pick<Settings, "service">,
  { tokens, records }: Database,
  more: Partial<RetailPosOptions> = {},
) {
  const client: RetailPos = retailPos({ ...service, ...tokens, observe: log, ...more });
  return { client, memberships: memberships(client, records, tokens.lock) };
}

/** A line in the log for each thing that happens to tokens. There is no secret in it. */
function log({ type, domainPrefix, at: _, ...details }: RetailPosEvent): void {
  const words = JSON.stringify(details, (_, value) => (value instanceof Error ? String(value) : value));
  const isBad = "error" in details && type !== "token_request"; // of which another event says what came
  console[isBad ? "warn" : "info"](`retail-pos ${type} store=${domainPrefix ?? "unknown"} ${words}`);
}
