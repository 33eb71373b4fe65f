import fc from "fast-check";
import { expect, test } from "vitest";
import { anything, holds, spoilt, unlessRefused } from "../../../test/support/fuzz.js";
import { type PostgresTokensOptions, postgresTokens } from "./index.js";

const NAMES = ["options", "pool", "table"];
const tables = fc.oneof(
  fc.constantFrom(
    "a.b",
    "a.b.c",
    ".a",
    "a.",
    '"a"',
    "a b",
    "A_1",
    "ä",
    "1a",
    "a".repeat(58),
    "a".repeat(59),
    "a;b",
    "pg_class",
  ),
  fc.stringMatching(/^[a-zA-Z_][\w$.-]{0,70}$/),
  fc
    .array(fc.constantFrom("a", ".", '"', "'", ";", "--", "/*", "$$", "\\", "\0", "ä", "-", "_", "1"), {
      maxLength: 8,
    })
    .map((all) => all.join("")),
);

test("options either work or are refused by name, and no table name ends its own quotes", async () => {
  const statements: string[] = [];
  const pool = {
    async query(text: string) {
      statements.push(text);
      return { rows: [], rowCount: 0 };
    },
  };
  await holds(
    fc.asyncProperty(spoilt({ pool, table: "mine" }, ["pool", "table"], tables), async (options) => {
      const tokens = unlessRefused(() => postgresTokens(options as PostgresTokensOptions), NAMES);
      if (!tokens || options.pool !== pool) return;
      statements.length = 0;
      await tokens.store.load("shop" as never);
      const table = options.table ?? "retail_pos_tokens";
      const quoted = table
        .split(".")
        .map((name) => `"${name}"`)
        .join(".");
      expect(statements).toHaveLength(1);
      // Two quotes for each part of the name and what stands between them: nothing else is quoted.
      expect(statements[0]).toContain(` ${quoted} `);
      expect(statements[0]?.split('"').length).toBe(quoted.split('"').length);
    }),
    2_000,
  );
});

test("nothing but an object is options", async () => {
  await holds(
    fc.property(anything(), (options) => {
      expect(unlessRefused(() => postgresTokens(options as PostgresTokensOptions), NAMES)).toBeUndefined();
    }),
    500,
  );
});
