import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { canRun } from "../packages/store-postgres/testing/postgres.js";
import { packAll } from "../scripts/pack.mjs";
import { codeSpansOf, programIn, root } from "./support/docs/documents.js";
import {
  copyOf,
  dropDatabases,
  expectMigrated,
  lockTable,
  migrate,
  newDatabase,
} from "./support/orms/databases.js";
import { newProject, type Project } from "./support/orms/project.js";

// The steps of the document, done in a project for each ORM, with our tarballs.

const document = "docs/prisma-and-drizzle.md";
const patience = 300_000; // pnpm fetches what is missing
vi.setConfig({ testTimeout: patience, hookTimeout: patience });

describe.skipIf(!canRun)(document, () => {
  const folder = mkdtempSync(join(tmpdir(), "retail-pos-orms-"));
  const tarballs = new Map<string, string>();
  beforeAll(async () => {
    const packed = await packAll(folder);
    for (const name of ["@retail-pos/core", "@retail-pos/store-contracts", "@retail-pos/store-postgres"])
      tarballs.set(name, packed.get(name) ?? "");
  });
  afterAll(async () => {
    await dropDatabases();
    rmSync(folder, { recursive: true, force: true });
  });

  describe("Drizzle", () => {
    let project: Project;
    /** The document's steps make our tables in one database, `migrate()` made them before in the other. */
    let [fresh, migrated] = ["", ""];
    const kit = (database: string, command: string) => project.run(`drizzle-kit ${command}`, database);
    const withoutOurs = "--dialect postgresql --schema src/tables.ts";

    beforeAll(async () => {
      const dependencies = { "drizzle-orm": "~0.45.4", "drizzle-kit": "~0.31.11" };
      project = await newProject({ document, folder, name: "drizzle", tarballs, dependencies });
      project.write(
        "src/tables.ts",
        `import { pgTable, text } from "drizzle-orm/pg-core";
        export const users = pgTable("users", { name: text("name").primaryKey() });`,
      );
      project.write(
        "drizzle.config.ts",
        `export default {
          dialect: "postgresql",
          schema: ["src/tables.ts", "src/retail-pos-tables.ts"],
          dbCredentials: { url: process.env.DATABASE_URL },
        };`,
      );
      [fresh, migrated] = [await newDatabase(), await newDatabase()];
      await migrate(migrated);
      await kit(fresh, `generate --name users ${withoutOurs}`);
      await project.run(stepsUnder("Drizzle"), fresh);
      await kit(migrated, "migrate");
    });

    test("has no change to generate, and none to push", async () => {
      expect(await kit(fresh, "generate")).toContain("No schema changes");
      for (const database of [fresh, migrated]) {
        expect(await kit(database, "push")).toContain("No changes detected");
        expect(await lockTable(database)).toBe("unlogged");
        await expectMigrated(database);
      }
    });

    test("pulls the columns that the models have", async () => {
      const columnsIn = (snapshot: string) => {
        const { tables } = JSON.parse(project.read(snapshot)) as {
          tables: Record<string, { columns: object }>;
        };
        return Object.entries(tables).map(([name, { columns }]) => ({ name, columns }));
      };
      await kit(migrated, "pull --dialect postgresql --url $DATABASE_URL --out pulled");
      const pulled = columnsIn("pulled/meta/0000_snapshot.json");
      expect(pulled).toHaveLength(3);
      expect(pulled).toEqual(expect.arrayContaining(columnsIn("drizzle/meta/0001_snapshot.json")));
    });

    test("pushes tables that work, without migrations", async () => {
      const pushed = await newDatabase();
      await kit(pushed, "push");
      await expectMigrated(pushed);
      expect(await lockTable(pushed)).toBe("logged");
      expect(await kit(pushed, "push")).toContain("No changes detected");
    });

    test("sees a model that is not as our table", async () => {
      const models = project.read("src/retail-pos-tables.ts");
      project.write("src/changed.ts", models.replace('text("scope")', 'text("scope").notNull()'));
      const changed = `push ${withoutOurs} --schema src/changed.ts --url $DATABASE_URL --verbose`;
      expect(await kit(await copyOf(migrated), changed)).toContain('"scope" SET NOT NULL');
    });

    test("drops the tables that it does not know", async () => {
      const database = await copyOf(migrated);
      await kit(database, `push ${withoutOurs} --url $DATABASE_URL`);
      expect(await lockTable(database)).toBe("missing");
    });

    test("works on the pool of the store and the lock, which keep their contracts", async () => {
      project.write(
        "src/program.test.ts",
        programOn(
          "(await db.execute(sql`SELECT pg_backend_pid() AS pid`)).rows",
          `import { sql } from "drizzle-orm";
          import { drizzle } from "drizzle-orm/node-postgres";
          import * as schema from "./tables.js";
          const db = ${shownInText("drizzle({")};`,
        ),
      );
      expect(await project.test(fresh)).toMatch(/^# pass [1-9]\d/m);
    });
  });

  describe("Prisma", () => {
    let project: Project;
    let [fresh, migrated] = ["", ""];
    /** What the other one was told before the steps. */
    let warning: string;
    const says = (database: string, command: string) => project.run(`prisma ${command}`, database);
    const diff = "migrate diff --script --from-config-datasource --to-schema";
    const models = () => project.read("prisma/retail-pos.prisma");

    beforeAll(async () => {
      project = await newProject({ document, folder, name: "prisma", tarballs, ...prisma });
      for (const file of ["schema-engine.mjs", "terminal.cjs"])
        cpSync(join(root, "test/support/orms", file), join(folder, "prisma", file));
      project.write(
        "prisma.config.ts",
        `export default {
          schema: "prisma",
          migrations: { path: "prisma/migrations" },
          datasource: { url: process.env.DATABASE_URL },
        };`,
      );
      project.write("prisma/schema.prisma", schema());
      [fresh, migrated] = [await newDatabase(), await newDatabase()];

      const ours = models();
      project.write("prisma/retail-pos.prisma", "");
      await says(fresh, "migrate dev");
      await says(migrated, "migrate deploy");
      await migrate(migrated);
      warning = await says(migrated, "migrate dev");

      project.write("prisma/retail-pos.prisma", ours);
      await project.run(stepsUnder("Prisma"), fresh);
      await says(migrated, 'migrate resolve --applied "$(ls prisma/migrations | grep _retail_pos_tokens)"');
    });

    test("wants to reset the database for tables that it does not know", () => {
      const [, added, more] =
        /^Drift detected[\s\S]*Added tables\n((?: +- .*\n)+)([\s\S]*)/m.exec(warning) ?? [];
      expect(added).toBe("  - retail_pos_tokens\n  - retail_pos_tokens_lock\n");
      expect(more).toContain("All data will be lost");
    });

    test("has nothing to migrate, and sees no drift", async () => {
      for (const database of [fresh, migrated]) {
        expect(await says(database, "migrate dev")).toContain("Already in sync");
        expect(await says(database, `${diff} prisma`)).toContain("This is an empty migration");
        expect(await lockTable(database)).toBe("unlogged");
        await expectMigrated(database);
      }
    });

    test("pulls the model that the document shows", async () => {
      const [tokens] = /^model RetailPosTokens \{[\s\S]*?^\}/m.exec(models()) ?? [];
      expect(await says(migrated, "db pull --print")).toContain(tokens);
    });

    test("has nothing to migrate with partial indexes either, if the model has ours", async () => {
      const preview = schema('previewFeatures = ["partialIndexes"]');
      project.write("without.prisma", preview + models());
      expect(await says(migrated, `${diff} without.prisma`)).toContain('DROP INDEX "retail_pos_tokens_ends"');
      const index = `$&\n  ${shownInText("@@index(")}`;
      project.write("with.prisma", preview + models().replace(/^.*"ends_at".*$/m, index));
      expect(await says(migrated, `${diff} with.prisma`)).toContain("This is an empty migration");
    });

    test("sees a model that is not as our table", async () => {
      project.write("changed.prisma", schema() + models().replace("String?", "String"));
      expect(await says(migrated, `${diff} changed.prisma`)).toContain('"scope" SET NOT NULL');
    });

    test("works on the pool of the store and the lock, which keep their contracts", async () => {
      await says(fresh, "generate");
      project.write(
        "src/program.test.ts",
        programOn(
          "await prisma.$queryRaw<{ pid: number }[]>`SELECT pg_backend_pid() AS pid`",
          `import { PrismaPg } from "@prisma/adapter-pg";
          import { PrismaClient } from "./generated/client.js";
          const prisma = ${shownInText("new PrismaClient(")};
          test("the client has none of our models", () => {
            assert.ok("user" in prisma);
            assert.ok(!("retailPosTokens" in prisma));
          });`,
        ),
      );
      expect(await project.test(fresh)).toMatch(/^# pass [1-9]\d/m);
    });
  });
});

const version = "7.10.0";
const prisma = {
  dependencies: {
    ...{ prisma: version, "@prisma/client": version, "@prisma/adapter-pg": version },
    // For schema-engine.mjs. The engine is of the commit that this Prisma would download (@prisma/engines-version).
    "@prisma/driver-adapter-utils": version,
    "@prisma/schema-engine-wasm": "7.10.0-4.0edf323efd1d98336f3f0a68684b56f689b900d3",
  },
  env: {
    PRISMA_SCHEMA_ENGINE_BINARY: "./schema-engine.mjs",
    NODE_OPTIONS: "--require ./terminal.cjs",
    CHECKPOINT_DISABLE: "1", // no question whether there is a newer version
  },
};

/** Somebody's schema, without our models. */
function schema(setting = ""): string {
  return `
    datasource db {
      provider = "postgresql"
    }
    generator client {
      provider = "prisma-client"
      output   = "../src/generated"
      ${setting}
    }
    model User {
      name String @id
      @@map("users")
    }\n`;
}

/** The shell's lines of the document. */
function stepsUnder(heading: string): string {
  return programIn(document, "test/prisma-and-drizzle.long.test.ts", heading);
}

/** The document's \`code\` that begins like this. */
function shownInText(beginning: string): string {
  const code = codeSpansOf(document).find((each) => each.startsWith(beginning));
  if (code === undefined) throw new Error(`${document} does not show ${beginning}`);
  return code;
}

/**
 * @param rows an expression: the database's process that serves the ORM, as its `pid`.
 * @param before what the expression needs.
 */
function programOn(rows: string, before: string): string {
  return `
    import assert from "node:assert/strict";
    import { after, test } from "node:test";
    import { parseDomainPrefix } from "@retail-pos/core";
    import { lockContract, storeContract } from "@retail-pos/store-contracts";
    import { postgresTokens } from "@retail-pos/store-postgres";
    import { lock, pool, store } from "./tokens.js";
    ${before}
    test("one connection serves the ORM, the store and the lock", async () => {
      const [answer] = ${rows};
      await lock("key", () => store.load(parseDomainPrefix("shop")));
      assert.deepEqual((await pool.query("SELECT pg_backend_pid() AS pid")).rows, [{ pid: answer?.pid }]);
      assert.equal(pool.totalCount, 1);
    });
    storeContract(test, () => postgresTokens({ pool }).store, { shared: true });
    lockContract(test, () => postgresTokens({ pool }).lock, { shared: true });
    after(() => pool.end());`;
}
