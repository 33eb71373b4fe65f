import { lockContract, storeContract } from "@retail-pos/store-contracts";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startPgBouncer } from "../testing/pgbouncer.js";
import { canRun, schema, setUp, tearDown } from "../testing/postgres.js";
import { postgresTokens } from "./index.js";

const bouncer = canRun ? await startPgBouncer() : undefined;
if (!bouncer && process.env["NO_SKIP"])
  throw new Error("With NO_SKIP=1 nothing may be skipped: no pgbouncer to start");

describe.skipIf(!bouncer)("behind PgBouncer in transaction mode", () => {
  const table = `${schema}.tokens`;
  const pool = new pg.Pool({ connectionString: bouncer?.url, max: 20 });
  const tokens = postgresTokens({ pool, table });
  beforeAll(async () => {
    await setUp();
    await Promise.all([tokens.migrate(), tokens.migrate()]);
  });
  afterAll(async () => {
    await pool.end();
    await tearDown();
    await bouncer?.close();
  });

  storeContract(test, () => tokens.store, { shared: true });
  lockContract(test, () => tokens.lock, { shared: true });

  test("two connections to the database do for twenty of ours", async () => {
    const asked = Array.from({ length: 20 }, () =>
      pool.query("SELECT pg_backend_pid() AS id, pg_sleep(0.05)"),
    );
    const backends = (await Promise.all(asked)).map(({ rows }) => rows[0].id);
    expect(pool.totalCount).toBe(20);
    expect(new Set(backends).size).toBeLessThanOrEqual(2);
  });
});
