import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type DomainPrefix, parseDomainPrefix, type TokenSet } from "@retail-pos/core";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { databases } from "../testing/databases.js";
import { endWorkers, runTogether, startWorker } from "../testing/processes.js";
import { asker } from "./driver.js";
import { sqliteTokens } from "./index.js";
import { createLock } from "./lock.js";
import { tablesAt } from "./schema.js";

// Real processes on the built packages, several on one file. What they make of it together with core is told in
// test/processes.test.ts.

const here = databases();
afterEach(endWorkers);
afterAll(here.end);

const shop = parseDomainPrefix("shop");

describe("several processes on one file", () => {
  test("make the tables at the same time", async () => {
    const file = here.newFile();
    const retailers = ["one", "two", "three", "four", "five", "six"];
    await runTogether(retailers.map((retailer) => startWorker("make", file, retailer)));
    const { store } = sqliteTokens({ database: here.open(file) });
    for (const retailer of retailers) expect(await store.load(parseDomainPrefix(retailer))).toBeDefined();
  });

  test("are never in the lock at the same time", async () => {
    const file = here.newFile();
    const log = `${file}.log`;
    await runTogether(Array.from({ length: 4 }, () => startWorker("exclude", file, log, "60")));
    expect(readFileSync(log, "utf8")).toBe("in\nout\n".repeat(240));
  });

  test("lose no write to each other with compare-and-set alone", async () => {
    const file = here.newFile();
    const { store } = sqliteTokens({ database: here.open(file) });
    await store.save(set({ issuedAt: 0 }));
    await runTogether(Array.from({ length: 4 }, () => startWorker("count", file, "25")));
    expect((await store.load(shop))?.issuedAt).toBe(100);
  });
});

describe("a process killed with SIGKILL", () => {
  test("leaves a lock that is free when its lease is over; while it lived, nobody else had it", async () => {
    const file = here.newFile();
    const database = here.open(file);
    sqliteTokens({ database });
    const leaseMs = 400;
    const worker = startWorker("hold", file, "shop", String(leaseMs));
    await worker.heard();
    let started = false;
    const waiter = createLock(asker(database), tablesAt("retail_pos_tokens"), { leaseMs })(
      "shop",
      async () => {
        started = true;
      },
    );
    await new Promise((resolve) => setTimeout(resolve, leaseMs * 2.5)); // a lease needs time to run out
    expect(started).toBe(false);
    await worker.kill();
    await waiter;
  });

  test("in the middle of saving leaves a whole set, and the file usable", async () => {
    const file = here.newFile();
    const { store } = sqliteTokens({ database: here.open(file) });
    for (let round = 0; round < 3; round += 1) {
      const worker = startWorker("save", file);
      await worker.heard();
      await worker.kill();
      const stored = await store.load(shop);
      const version = stored?.version ?? "";
      expect(stored).toEqual(
        set({
          version,
          access: { value: `access-${version}`, expiresAt: (stored?.issuedAt ?? 0) + 1 },
          refreshToken: `refresh-${version}`,
          issuedAt: Number(version.split("-")[1]),
        }),
      );
      expect(await store.save(set(), stored)).toBe(true);
    }
  });
});

// npx may have to fetch that Node first.
test("node:sqlite of a newer Node keeps every promise too", { timeout: 300_000 }, async () => {
  const program = fileURLToPath(new URL("../testing/node-sqlite.mjs", import.meta.url));
  const args = ["-y", "node@24", "--test", "--test-reporter=tap", program];
  const { stdout, stderr } = await promisify(execFile)("npx", args, { env: quietEnv() }).catch(
    (error) => error,
  );
  if (!stdout.includes("TAP version")) throw new Error(`node@24 could not be run: ${stderr}`);
  expect(stdout).toMatch(/^# fail 0$/m);
  expect(stdout).toMatch(/^# pass [1-9][0-9]{2}$/m);
});

/** Without what a test runner around us told its children. */
function quietEnv(): NodeJS.ProcessEnv {
  const { NODE_OPTIONS: _options, NODE_TEST_CONTEXT: _context, ...env } = process.env;
  return env;
}

function set(difference: Partial<TokenSet> = {}): TokenSet {
  return {
    domainPrefix: "shop" as DomainPrefix,
    access: { value: "access", expiresAt: 1 },
    refreshToken: "refresh",
    issuedAt: 1,
    version: "1",
    ...difference,
  };
}
