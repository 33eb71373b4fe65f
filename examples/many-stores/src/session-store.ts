import { callbackify } from "node:util";
import session, { type SessionData } from "express-session";
import type { Database } from "libsql";

type Done<T = void> = (error?: unknown, value?: T) => void;

/** Sessions in a table. Nobody has one before they log in, so strangers cannot fill it. */
export class SessionStore extends session.Store {
  readonly database: Database;

  constructor(database: Database) {
    super();
    database.exec("CREATE TABLE IF NOT EXISTS sessions (id TEXT PRIMARY KEY, data TEXT, ends_at INTEGER)");
    this.database = database;
  }
  override get(id: string, done: Done<SessionData | null>): void {
    answer(done, () => {
      const sql = "SELECT data FROM sessions WHERE id = ? AND ends_at > ? AND data <> ''";
      const row = this.database.prepare(sql).get(id, Date.now()) as { data: string } | undefined;
      return row ? JSON.parse(row.data) : null;
    });
  }
  override set(id: string, data: SessionData, done?: Done): void {
    answer(done, () => {
      this.database.prepare("DELETE FROM sessions WHERE ends_at <= ?").run(Date.now());
      // Not over one that was destroyed: a request that was under way meanwhile would log its reader in again.
      const sql = `
        INSERT INTO sessions VALUES (?, ?, ?)
        ON CONFLICT (id) DO UPDATE SET data = excluded.data, ends_at = excluded.ends_at WHERE data <> ''`;
      this.database
        .prepare(sql)
        .run(id, JSON.stringify(data), Date.now() + (data.cookie.originalMaxAge ?? 0));
    });
  }
  override destroy(id: string, done?: Done): void {
    answer(done, () => void this.database.prepare("UPDATE sessions SET data = '' WHERE id = ?").run(id));
  }
}

const answer = <T>(done: Done<T> = () => {}, work: () => T) => callbackify(async () => work())(done);
