import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";

/** An empty database of one test's own, as the settings name it. */
export interface EmptyDatabase {
  readonly databaseFile: string;
  readonly databaseUrl: string | undefined;
  remove(): Promise<void>;
}

const SERVER = process.env["DATABASE_URL"] ?? "postgresql://postgres@127.0.0.1:5432/test";

/** Both engines; of PostgreSQL a schema, if a server is there. */
export const engines = { sqlite: emptyFile, postgres: emptySchema } as const;
export type Engine = keyof typeof engines;

export const hasPostgres = await onServer("SELECT 1").then(
  () => true,
  () => false,
);
if (!hasPostgres && process.env["NO_SKIP"])
  throw new Error("With NO_SKIP=1 nothing may be skipped: no PostgreSQL answers");

async function emptyFile(): Promise<EmptyDatabase> {
  const folder = mkdtempSync(join(tmpdir(), "many-stores-"));
  return {
    databaseFile: join(folder, "made", "when-missing.sqlite"),
    databaseUrl: undefined,
    remove: async () => rmSync(folder, { recursive: true }),
  };
}

async function emptySchema(): Promise<EmptyDatabase> {
  const schema = `many_stores_${randomUUID().slice(0, 8)}`;
  await onServer(`CREATE SCHEMA ${schema}`);
  const url = new URL(SERVER);
  url.searchParams.set("options", `-c search_path=${schema}`);
  return {
    databaseFile: "",
    databaseUrl: url.href,
    remove: () => onServer(`DROP SCHEMA ${schema} CASCADE`),
  };
}

async function onServer(sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: SERVER, connectionTimeoutMillis: 2000 });
  await client.connect();
  await client.query(sql).finally(() => client.end());
}
