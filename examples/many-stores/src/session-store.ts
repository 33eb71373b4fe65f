import session, { type SessionData } from "express-session";
import type { Database } from "libsql";

const HOUR_MS = 60 * 60_000;

/** Sessions in a table. One without a user ends within the hour: everybody can begin one. */
export class SessionStore extends session.Store {
  readonly #database: Database;
  readonly #clock: () => number;

  constructor(database: Database, clock = Date.now) {
    super();
    database.exec(
      "CREATE TABLE IF NOT EXISTS sessions (id TEXT PRIMARY KEY, data TEXT NOT NULL, ends_at INTEGER NOT NULL)",
    );
    this.#database = database;
    this.#clock = clock;
  }

  override get(id: string, done: Done<SessionData | null>): void {
    answer(done, () => {
      const sql = "SELECT data FROM sessions WHERE id = ? AND ends_at > ? AND data <> ''";
      const row = this.#database.prepare(sql).get(id, this.#clock()) as { data: string } | undefined;
      return row ? JSON.parse(row.data) : null;
    });
  }

  override set(id: string, data: SessionData & { passport?: { user?: unknown } }, done?: Done): void {
    answer(done, () => {
      const now = this.#clock();
      const forMs = data.passport?.user === undefined ? HOUR_MS : data.cookie.originalMaxAge;
      this.#database.prepare("DELETE FROM sessions WHERE ends_at <= ?").run(now);
      // Not over one that was destroyed: a request that was under way meanwhile would log its reader in again.
      const sql = `
        INSERT INTO sessions VALUES (?, ?, ?)
        ON CONFLICT (id) DO UPDATE SET data = excluded.data, ends_at = excluded.ends_at WHERE data <> ''`;
      this.#database.prepare(sql).run(id, JSON.stringify(data), now + (forMs ?? HOUR_MS));
    });
  }

  override destroy(id: string, done?: Done): void {
    answer(done, () => void this.#database.prepare("UPDATE sessions SET data = '' WHERE id = ?").run(id));
  }
}

type Done<T = void> = (error?: unknown, value?: T) => void;

/** `done` runs in a turn of its own: what it throws is not ours to catch. */
function answer<T>(done: Done<T> = () => {}, work: () => T): void {
  try {
    const value = work();
    setImmediate(() => done(null, value));
  } catch (error) {
    setImmediate(() => done(error));
  }
}
