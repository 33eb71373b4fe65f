import { existsSync, readFileSync } from "node:fs";
import { type DomainPrefix, parseDomainPrefix } from "@retail-pos/core";
import { afterAll, describe, expect, test } from "vitest";
import { databases } from "../testing/databases.js";
import { sqliteTokens } from "./index.js";

const here = databases();
afterAll(here.end);

const REFRESH = "canary-refresh-token-that-nobody-can-revoke";

describe("a retailer that was removed", () => {
  test.each([
    ["short", 1],
    ["longer than a page", 300],
  ])("leaves no token in the file, nor in its write-ahead log: %s tokens", async (_, times) => {
    const file = here.newFile();
    const { store } = sqliteTokens({ database: here.open(file) });
    for (const name of ["before", "shop", "after"]) await store.save(set(name, times));
    expect(bytesOf(file)).toContain(`shop:${REFRESH}`); // it can be found, if it is there
    await store.remove(parseDomainPrefix("shop"));
    expect(bytesOf(file)).not.toContain(`shop:${REFRESH}`);
    expect(bytesOf(file)).toContain(`after:${REFRESH}`);
    expect(await store.load(parseDomainPrefix("after"))).toEqual(set("after", times));
  });

  test("while somebody reads is gone from the file with the next removal", async () => {
    const file = here.newFile();
    const { store } = sqliteTokens({ database: here.open(file) });
    await store.save(set("shop", 1));
    const reader = here.open(file);
    reader.exec("BEGIN");
    reader.prepare("SELECT * FROM retail_pos_tokens").get();
    await store.remove(parseDomainPrefix("shop"));
    expect(await store.load(parseDomainPrefix("shop"))).toBeUndefined();
    reader.exec("COMMIT");
    await store.remove(parseDomainPrefix("shop"));
    expect(bytesOf(file)).not.toContain(REFRESH);
  });

  test("from a file without a write-ahead log leaves no token either", async () => {
    const file = here.newFile();
    const reader = here.open(file);
    sqliteTokens({ database: reader });
    reader.exec("PRAGMA journal_mode = DELETE; BEGIN");
    reader.prepare("SELECT * FROM retail_pos_tokens").get();
    const { store } = sqliteTokens({ database: here.open(file) });
    reader.exec("COMMIT");
    await store.save(set("shop", 1));
    expect(bytesOf(file)).toContain(REFRESH);
    await store.remove(parseDomainPrefix("shop"));
    expect(bytesOf(file)).not.toContain(REFRESH);
  });
});

/** What somebody with the disk can read: the file, its log and its journal. */
function bytesOf(file: string): string {
  const files = [file, `${file}-wal`, `${file}-journal`].filter(existsSync);
  return files.map((each) => readFileSync(each, "latin1")).join("\n");
}

function set(name: string, times: number) {
  return {
    domainPrefix: name as DomainPrefix,
    access: { value: `${name}:canary-access`.repeat(times) },
    refreshToken: `${name}:${REFRESH}`.repeat(times),
    issuedAt: 1,
    version: name,
  };
}
