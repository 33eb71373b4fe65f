import { afterAll, describe, expect, test } from "vitest";
import { databases } from "../testing/databases.js";
import { sqliteTokens } from "./index.js";

const here = databases();
afterAll(here.end);

describe("a claim in SQLite", () => {
  test("clears away those that have ended, not the locks of others, and leaves nothing behind", async () => {
    const database = here.open();
    const { store, lock } = sqliteTokens({ database });
    await lock("id/shop", async () => {
      for (let each = 0; each < 40; each += 1) expect(await store.claim?.(`over ${each}`, 0.01)).toBe(true);
      database.exec("INSERT INTO retail_pos_tokens_lock VALUES ('id/killed', 'dead', 1)");
      await turn();
      expect(await store.claim?.("a login", 60_000)).toBe(true);
      expect(database.prepare("SELECT key FROM retail_pos_tokens_lock ORDER BY key").all()).toMatchObject([
        { key: expect.stringMatching(/^claim:[0-9a-f]{64}$/) },
        { key: "id/killed" },
        { key: "id/shop" },
      ]);
    });
  });

  test("does no more work when there are many, ended or not: an index finds what has ended", async () => {
    const database = here.open();
    const { store } = sqliteTokens({ database });
    const insert = database.prepare("INSERT INTO retail_pos_tokens_lock VALUES (?, 'somebody', ?)");
    database.exec("BEGIN");
    for (let each = 0; each < 20_000; each += 1) insert.run(`claim:${each}`, Date.now() + 3_600_000);
    for (let each = 0; each < 2500; each += 1) insert.run(`claim:over${each}`, 1);
    database.exec("COMMIT");
    await store.claim?.("a login", 60_000);
    const count = database.prepare("SELECT count(*) AS count FROM retail_pos_tokens_lock");
    expect(count.get()).toMatchObject({ count: 20_000 + 2500 + 1 - 1000 });
    const plan = database
      .prepare(
        `EXPLAIN QUERY PLAN SELECT key FROM retail_pos_tokens_lock
         WHERE key LIKE 'claim:%' AND ends_at <= 5 ORDER BY ends_at LIMIT 1000`,
      )
      .all();
    expect(plan).toMatchObject([{ detail: expect.stringContaining("USING INDEX retail_pos_tokens_ends") }]);
  });

  test("that somebody holds is asked for without a write, so that no writer is in the way", async () => {
    const file = here.newFile();
    const { store } = sqliteTokens({ database: here.open(file) });
    const writer = here.open(file);
    expect(await store.claim?.("login", 60_000)).toBe(true);
    writer.exec("BEGIN IMMEDIATE");
    expect(await store.claim?.("login", 60_000)).toBe(false);
    writer.exec("ROLLBACK");
  });
});

/** Past the millisecond. */
function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 2));
}
