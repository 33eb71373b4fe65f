import session, { type SessionData } from "express-session";
import type Database from "libsql";

const HOUR_MS = 60 * 60_000;
const DAY_MS = 24 * HOUR_MS;

/** As Passport keeps who is logged in. */
type Data = SessionData & { passport?: { user?: unknown } };

type Done<T = void> = (error?: unknown, value?: T) => void;

/**
 * Sessions in a SQLite table, as express-session asks it of a store. There is no `touch`: a session ends
 * when the cookie it began with does, and reading a page writes nothing. Without a user it ends within the hour:
 * anybody can begin a login, and each is a row beside the tokens.
 */
export class SessionStore extends session.Store {
  readonly #database: Database.Database;
  readonly #clock: () => number;

  constructor(database: Database.Database, clock = Date.now) {
    super();
    database.exec(
      "CREATE TABLE IF NOT EXISTS sessions (id TEXT PRIMARY KEY, data TEXT NOT NULL, ends_at INTEGER NOT NULL)",
    );
    database.exec("CREATE INDEX IF NOT EXISTS sessions_ends_at ON sessions (ends_at)");
    this.#database = database;
    this.#clock = clock;
  }

  override get(id: string, done: Done<SessionData | null>): void {
    answer(done, () => {
      const find = this.#database.prepare("SELECT data FROM sessions WHERE id = ? AND ends_at > ?");
      const row = find.get(id, this.#clock()) as { data: string } | undefined;
      return row ? JSON.parse(row.data) : null;
    });
  }

  override set(id: string, data: Data, done?: Done): void {
    answer(done, () => {
      const now = this.#clock();
      const longest = data.passport?.user === undefined ? HOUR_MS : Number.POSITIVE_INFINITY;
      const endsAt = now + Math.min(data.cookie.originalMaxAge ?? DAY_MS, longest);
      this.#database.prepare("DELETE FROM sessions WHERE ends_at <= ?").run(now);
      this.#database
        .prepare("INSERT OR REPLACE INTO sessions (id, data, ends_at) VALUES (?, ?, ?)")
        .run(id, JSON.stringify(data), endsAt);
    });
  }

  override destroy(id: string, done?: Done): void {
    answer(done, () => void this.#database.prepare("DELETE FROM sessions WHERE id = ?").run(id));
  }
}

/** `done` is called outside of the `try`: what it throws is not ours, and would call it a second time. */
function answer<T>(done: Done<T> | undefined, work: () => T): void {
  let value: T;
  try {
    value = work();
  } catch (error) {
    done?.(error);
    return;
  }
  done?.(null, value);
}
