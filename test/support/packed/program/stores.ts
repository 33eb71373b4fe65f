import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import type { Lock, TokenStore } from "@retail-pos/core";
import { sealedStore } from "@retail-pos/sealed-store";
import { lockContract, storeContract } from "@retail-pos/store-contracts";
import { postgresTokens } from "@retail-pos/store-postgres";
import { redisTokens } from "@retail-pos/store-redis";
import { sqliteTokens } from "@retail-pos/store-sqlite";
import { Redis } from "ioredis";
import Database from "libsql";
import pg from "pg";
import { createClient } from "redis";

/** Each store takes the client of each driver; the one that needs no server keeps its promises. */
export async function stores(): Promise<void> {
  const made: { store: TokenStore; lock: Lock }[] = [
    redisTokens({ client: new Redis({ lazyConnect: true }) }),
    redisTokens({ client: createClient() }),
    postgresTokens({ pool: new pg.Pool() }),
  ];
  assert.equal(made.length, 3);

  const database = new Database(":memory:");
  const { store, lock } = sqliteTokens({ database });
  const sealed = sealedStore(store, { keys: [{ id: "1", secret: randomBytes(32) }] });
  const promises: (() => Promise<void>)[] = [];
  storeContract(
    (_name, run) => promises.push(run),
    () => sealed,
  );
  lockContract(
    (_name, run) => promises.push(run),
    () => lock,
  );
  for (const run of promises) await run();
  database.close();
}
