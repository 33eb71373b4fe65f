import { realpathSync, statSync } from "node:fs";
import { storeFailure } from "@retail-pos/core/authoring";
import type { Ask, Row, SqliteDatabase } from "./driver.js";

/** Whether what SQLite has open still lies where other processes find it. */
export interface FileIdentity {
  /** Whether other processes find what is written now. */
  readonly canWrite: () => boolean;
  /**
   * False if the file is in place, but not what SQLite keeps beside it: then this process reads another state than the
   * others, and with a lock it would spend a refresh token that another process has replaced.
   */
  readonly canLock: () => boolean;
}

/**
 * Asks the database, and then looks whether what was written can be found. A file that was deleted, moved or replaced
 * below a process that has it open can still be written, and in WAL mode SQLite does not look.
 */
export function inPlace(ask: Ask, isInPlace: () => boolean): Ask {
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

/**
 * Remembers which files an opened database has; all are in place, if it has no file (in memory), or if it cannot be
 * told.
 */
export function fileIdentity(database: SqliteDatabase): FileIdentity {
  const { file } = database.prepare("PRAGMA database_list").get() as Row; // the first is the main one
  const path = String(file ?? "");
  const opened = fileAt(path);
  if (!opened) return { canWrite: () => true, canLock: () => true };
  const isLogInPlace = sidecarIdentity(database, () => fileBeside(path, "-wal"), true);
  const isMemoryInPlace = sidecarIdentity(database, () => fileBeside(path, "-shm"), false); // none if EXCLUSIVE
  const isFileInPlace = () => (fileAt(path) ?? opened) === opened;
  const areBothInPlace = () => isLogInPlace() && isMemoryInPlace();
  return {
    canWrite: () => isFileInPlace() && areBothInPlace(),
    canLock: () => !isFileInPlace() || areBothInPlace(),
  };
}

/**
 * Says whether a file that SQLite keeps beside the database in WAL mode, the log or the shared memory, is still the one
 * that was opened. What is written to another log is found by no other process, and is lost with a kill.
 *
 * @param isNeeded whether SQLite has made it by now: if it is not there, it was lost.
 */
function sidecarIdentity(
  database: SqliteDatabase,
  look: () => string | undefined,
  isNeeded: boolean,
): () => boolean {
  let isWal = isInWal(database);
  let opened = look();
  return () => {
    const found = look();
    if (found === undefined || (isWal && found === opened && (found || !isNeeded))) return true;
    const wasWal = isWal;
    isWal = isInWal(database);
    if (isWal && wasWal) return false;
    opened = found; // the application has changed the mode
    return true;
  };
}

function isInWal(database: SqliteDatabase): boolean {
  const { journal_mode } = database.prepare("PRAGMA journal_mode").get() as Row;
  return journal_mode === "wal";
}

/** Which file lies beside another. If a link leads to that one, SQLite looks where the link leads. */
function fileBeside(path: string, ending: string): string | undefined {
  try {
    return fileAt(`${realpathSync(path)}${ending}`);
  } catch {
    return fileAt(`${path}${ending}`);
  }
}

/** Which file lies there: empty if there is none, `undefined` if it cannot be told. */
function fileAt(path: string): string | undefined {
  try {
    const found = statSync(path, { bigint: true, throwIfNoEntry: false });
    return found ? `${found.dev} ${found.ino}` : "";
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOTDIR" ? "" : undefined;
  }
}
