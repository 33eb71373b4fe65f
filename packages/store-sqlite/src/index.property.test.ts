import fc from "fast-check";
import Database from "libsql";
import { expect, test } from "vitest";
import { anything, holds, spoilt, unlessRefused } from "../../../test/support/fuzz.js";
import { type SqliteTokensOptions, sqliteTokens } from "./index.js";

const NAMES = ["options", "database", "table"];
const tables = fc.oneof(
  fc.constantFrom(
    "a.b",
    '"a"',
    "a b",
    "A_1",
    "ä",
    "1a",
    "a".repeat(60),
    "a".repeat(61),
    "sqlite_a",
    "a;b",
    "select",
    "_",
  ),
  fc.stringMatching(/^[a-zA-Z_]\w{0,70}$/),
  fc
    .array(fc.constantFrom("a", ".", '"', "'", ";", "--", "/*", "[", "`", "\0", "ä", "_", "1"), {
      maxLength: 8,
    })
    .map((all) => all.join("")),
);

test("options either work or are refused by name, and no table is made but the two", async () => {
  const databases = fc.constantFrom<unknown>(
    { exec() {}, prepare() {} },
    { exec() {}, prepare: async () => ({}) },
  );
  const values = fc.oneof(tables, databases);
  await holds(
    fc.property(
      spoilt({ database: undefined, table: "mine" }, ["database", "table"], values),
      fc.boolean(),
      (given, isOpen) => {
        const database = new Database(":memory:");
        const options = isOpen ? { ...given, database } : given;
        const tokens = unlessRefused(() => sqliteTokens(options as unknown as SqliteTokensOptions), NAMES);
        const made = database
          .prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
          .all() as { name: string }[];
        const table = options.table ?? "retail_pos_tokens";
        expect(made.map(({ name }) => name)).toEqual(tokens ? [table, `${table}_lock`] : []);
        database.close();
      },
    ),
    400,
  );
});

test("nothing but an object with a database is options", async () => {
  await holds(
    fc.property(anything(), (options) => {
      expect(unlessRefused(() => sqliteTokens(options as SqliteTokensOptions), NAMES)).toBeUndefined();
    }),
    500,
  );
});
