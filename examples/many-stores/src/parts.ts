import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { type RetailPosEvent, type RetailPosOptions, retailPos } from "@retail-pos/core";
import { sealedStore } from "@retail-pos/sealed-store";
import { sqliteTokens } from "@retail-pos/store-sqlite";
import Sqlite from "libsql";
import { memberships } from "./memberships.js";
import { recordsIn } from "./records.js";
import { SessionStore } from "./session-store.js";
import type { Settings } from "./settings.js";

/** What the server and the nightly job each open: the client of the service, and the file in which everything is. */
export function openParts(settings: Settings, more: Partial<RetailPosOptions> = {}) {
  const { service, DATABASE_FILE: file, TOKEN_KEYS: keys } = settings;
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, "", { flag: "a", mode: 0o600 }); // it holds tokens: other users of this machine must not read it
  const ofTokens = new Sqlite(file); // its own connection: a transaction on a shared one would include its writes
  const ofOthers = new Sqlite(file, { timeout: 5000 }); // waits so long while the other process writes
  const { store, lock } = sqliteTokens({ database: ofTokens });
  const tokens = { store: keys.length > 0 ? sealedStore(store, { keys }) : store, lock };
  const client = retailPos({ ...service, ...tokens, observe: log, ...more });
  const records = recordsIn(ofOthers);
  return {
    client,
    tokens,
    records,
    memberships: memberships(client, records, lock),
    sessions: new SessionStore(ofOthers),
    close() {
      ofTokens.close();
      ofOthers.close();
    },
  };
}
export type Parts = ReturnType<typeof openParts>;

/** A line on standard error for each thing that happens to tokens. There is no secret in it. */
function log({ type, domainPrefix, at: _, ...details }: RetailPosEvent): void {
  const words = JSON.stringify(details, (_, value) => (value instanceof Error ? String(value) : value));
  const isBad = "error" in details && details.error !== undefined;
  if (isBad && type === "token_request") return; // another event says what came of it
  console.warn(`retail-pos ${type} store=${domainPrefix ?? "unknown"} ${words}`);
}
