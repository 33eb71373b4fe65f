import { statSync } from "node:fs";
import { storeFailure } from "@retail-pos/core/authoring";
import type { Ask, Row, SqliteDatabase } from "./driver.js";

/**
 * The same, for a store: what it writes has to be in the file that others find. A file that was deleted, moved or
 * replaced below a process that has it open can still be written, and in WAL mode SQLite does not look.
 */
export function inPlace(ask: Ask, database: SqliteDatabase): Ask {
  const isInPlace = placeOf(database);
  return async (task, sql, values) => {
    const answer = await ask(task, sql, values);
    const isRead = task.operation === "load" || task.operation === "list";
    if (isRead || isInPlace()) return answer;
    throw storeFailure(
      "SQLite",
      task,
      new Error("its file or its log (-wal) was deleted, moved or replaced while it was open"),
    );
  };
}

/** Says whether the opened file still lies at its path; yes, if it has none (in memory), or if it cannot be told. */
function placeOf(database: SqliteDatabase): () => boolean {
  const { file } = database.prepare("PRAGMA database_list").get() as Row; // the first is the main one
  const path = String(file ?? "");
  const opened = fileAt(path);
  if (!opened) return () => true;
  const isLogInPlace = logOf(database, `${path}-wal`);
  return () => (fileAt(path) ?? opened) === opened && isLogInPlace();
}

/**
 * The same for the write-ahead log, which SQLite keeps as long as the database is open: what is written to another one
 * is found by no other process, and by none after a kill. It is there after the first write at the latest.
 */
function logOf(database: SqliteDatabase, path: string): () => boolean {
  let opened: string | undefined;
  return () => {
    const found = fileAt(path);
    opened ||= found;
    if (!opened || (found ?? opened) === opened) return true;
    const { journal_mode } = database.prepare("PRAGMA journal_mode").get() as Row;
    if (journal_mode === "wal") return false;
    opened = undefined; // the application has changed the mode: no log belongs there
    return true;
  };
}

/** Which file lies there: empty if there is none, `undefined` if it cannot be told. */
function fileAt(path: string): string | undefined {
  try {
    const found = statSync(path, { bigint: true, throwIfNoEntry: false });
    return found ? `${found.dev} ${found.ino}` : "";
  } catch {
    return undefined;
  }
}
