import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "libsql";

/** Files and connections of one test file, and their end. */
export interface Databases {
  /** The path of a database nobody has opened yet. */
  newFile(): string;
  open(file?: string): Database.Database;
  /** Closes and deletes everything. */
  end(): void;
}

export function databases(): Databases {
  const folder = mkdtempSync(join(tmpdir(), "retail-pos-sqlite-"));
  const opened: Database.Database[] = [];
  let files = 0;
  const newFile = () => join(folder, `${++files}.db`);
  return {
    newFile,
    open(file = newFile()) {
      const database = new Database(file);
      opened.push(database);
      return database;
    },
    end() {
      for (const database of opened) database.close();
      rmSync(folder, { recursive: true });
    },
  };
}
