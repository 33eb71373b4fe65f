import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { callbackify } from "node:util";
import type { Lock, TokenStore } from "@retail-pos/core";
import { postgresTokens } from "@retail-pos/store-postgres";
import { redisTokens } from "@retail-pos/store-redis";
import { sqliteTokens } from "@retail-pos/store-sqlite";
import connectPgSimple from "connect-pg-simple";
import { RedisStore } from "connect-redis";
import session, { type SessionData } from "express-session";
import Database from "libsql";
import pg from "pg";
import { createClient } from "redis";
import type { Settings } from "./settings.js";

/** What outlives a restart, and what several processes share. */
export interface Kept {
  tokens: { store: TokenStore; lock: Lock };
  sessions: session.Store;
  /** Once the server has closed: it keeps no process any more, but a renewal under way is still saved. */
  release(): void;
}

type Place = Pick<Settings, "DATABASE_URL" | "REDIS_URL" | "DATABASE_FILE" | "NAMESPACE">;

/** Opens what the settings name, and makes the tables that are missing. Rejects if it cannot be used. */
export async function openStore({ DATABASE_URL, REDIS_URL, DATABASE_FILE, NAMESPACE }: Place): Promise<Kept> {
  if (DATABASE_URL) return onPostgres(DATABASE_URL, NAMESPACE);
  return REDIS_URL ? onRedis(REDIS_URL, NAMESPACE) : onSqlite(DATABASE_FILE);
}

async function onPostgres(connectionString: string, namespace: string): Promise<Kept> {
  const limits = { max: 5, connectionTimeoutMillis: 5000, query_timeout: 5000 }; // for each process
  const pool = new pg.Pool({ connectionString, ...limits, allowExitOnIdle: true }); // not end(): see `release`
  pool.on("error", ({ message }) => console.error(`PostgreSQL: ${message}`));
  const { migrate, ...tokens } = postgresTokens({ pool, table: `${namespace}_tokens` });
  await migrate();
  const tableName = `${namespace}_sessions`;
  // Its own `createTableIfMissing` fails if two processes start at once.
  await pool.query(`
    SELECT pg_advisory_xact_lock(hashtext('${tableName}'));
    CREATE TABLE IF NOT EXISTS "${tableName}" (sid varchar PRIMARY KEY, sess json NOT NULL, expire timestamp(6) NOT NULL);
    CREATE INDEX IF NOT EXISTS "${tableName}_expire" ON "${tableName}" (expire)`);
  const sessions = new (connectPgSimple(session))({ pool, tableName, disableTouch: true });
  return { tokens, sessions, release: () => void sessions.close() };
}

async function onRedis(url: string, namespace: string): Promise<Kept> {
  let isOpen = false;
  const client = createClient({
    url,
    disableOfflineQueue: true, // while Redis is away requests fail at once
    socket: { reconnectStrategy: (tries) => isOpen && Math.min(100 * 2 ** tries, 2000) },
  });
  client.on("error", (error) => console.error(`Redis: ${error.message || error.code}`));
  await client.connect();
  isOpen = true;
  return {
    tokens: redisTokens({ client, prefix: `${namespace}:` }),
    sessions: new RedisStore({ client, prefix: `${namespace}:session:`, disableTouch: true }),
    release() {
      client.unref(); // not close(): see `release`
      setTimeout(() => client.destroy(), 40_000).unref(); // while Redis is away it would go on connecting
    },
  };
}

function onSqlite(file: string): Kept {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, "", { flag: "a", mode: 0o600 }); // it holds tokens, and is for nobody else to read
  const database = new Database(file, { timeout: 1000 });
  const release = () => void process.once("exit", () => database.close());
  return { tokens: sqliteTokens({ database }), sessions: new SqliteSessions(database), release };
}

/** Sessions in a table, as express-session asks it of a store. It has no `touch`, so no page prolongs a session. */
class SqliteSessions extends session.Store {
  readonly database: Database.Database;

  constructor(database: Database.Database) {
    super();
    this.database = database;
    database.exec(`
      CREATE TABLE IF NOT EXISTS sessions (id TEXT PRIMARY KEY, data TEXT, ends_at INTEGER);
      CREATE INDEX IF NOT EXISTS sessions_ends_at ON sessions (ends_at);
    `);
  }
  override get(id: string, done: (error: unknown, session?: SessionData | null) => void): void {
    answer(done, () => {
      const find = this.database.prepare("SELECT data FROM sessions WHERE id = ? AND ends_at > ?");
      const row = find.get(id, Date.now()) as { data: string } | undefined;
      return row ? JSON.parse(row.data) : null;
    });
  }
  override set(id: string, data: SessionData, done?: (error?: unknown) => void): void {
    answer(done, () => {
      this.database.prepare("DELETE FROM sessions WHERE ends_at <= ?").run(Date.now());
      const save = this.database.prepare(
        "INSERT OR REPLACE INTO sessions (id, data, ends_at) VALUES (?, ?, ?)",
      );
      save.run(id, JSON.stringify(data), Date.now() + (data.cookie.maxAge ?? 0));
    });
  }
  override destroy(id: string, done?: (error?: unknown) => void): void {
    answer(done, () => this.database.prepare("DELETE FROM sessions WHERE id = ?").run(id));
  }
}

const answer = <T>(done: (error: unknown, value?: T) => void = () => {}, work: () => T) =>
  callbackify(async () => work())(done);
