// So many retailers in a store: filled, looked at through the store itself, and removed again.
import assert from "node:assert/strict";
import { rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { memoryLock, memoryStore } from "@retail-pos/core";
import { postgresTokens } from "@retail-pos/store-postgres";
import { redisTokens } from "@retail-pos/store-redis";
import { sqliteTokens } from "@retail-pos/store-sqlite";
import { Redis } from "ioredis";
import Database from "libsql";
import pg from "pg";
import { tokenSet, tokenSetsInSql } from "./retailers.mjs";

const { REDIS_URL = "redis://127.0.0.1:6379", DATABASE_URL = "postgresql://root@127.0.0.1:5432/test" } =
  process.env;

/** How many commands are on their way at once while Redis is filled or emptied. */
const PIPELINED = 1000;

/**
 * Each opens one population. `tokens` is what `retailPos` takes, `asked` counts what reached the engine, by
 * kind. `name` is the key prefix or the table.
 */
export const engines = {
  /** What a store in memory cannot be faster than: no store at all. */
  async map() {
    const sets = new Map();
    const store = {
      load: async (domainPrefix) => sets.get(domainPrefix),
      save: async (set) => Boolean(sets.set(set.domainPrefix, set)),
    };
    const token = async (domainPrefix) => sets.get(domainPrefix).access;
    return {
      tokens: { store },
      fill: (size) => saveAll(store, size),
      open: () => ({ tokens: (domainPrefix) => ({ token: () => token(domainPrefix) }) }),
      remove: async () => {},
      close: async () => {},
    };
  },

  async memory() {
    const store = memoryStore();
    return {
      tokens: { store, lock: memoryLock() },
      asked: {},
      fill: (size) => saveAll(store, size),
      remove: async () => {},
      close: async () => {},
    };
  },

  async redis(name) {
    const client = new Redis(REDIS_URL);
    const asked = countScripts(client);
    const tokens = redisTokens({ client, prefix: `${name}:` });
    return {
      tokens,
      asked,
      client,
      fill: (size) => saveAll(tokens.store, size), // not awaited one by one: the client pipelines them
      async remove() {
        for await (const keys of client.scanStream({ match: `${name}:*`, count: PIPELINED }))
          if (keys.length > 0) await client.unlink(...keys);
      },
      /** Of the whole server: nobody else should write to it meanwhile. */
      async bytes() {
        const info = await client.info("memory");
        return Number(/used_memory:(\d+)/.exec(info)[1]);
      },
      /** To the whole server. */
      async connections() {
        return Number(/connected_clients:(\d+)/.exec(await client.info("clients"))[1]);
      },
      close: () => client.quit(),
    };
  },

  async postgres(name, { max = 2 } = {}) {
    const pool = new pg.Pool({ connectionString: DATABASE_URL, max });
    const asked = countStatements(pool);
    const { migrate, ...tokens } = postgresTokens({ pool, table: name });
    await migrate();
    return {
      tokens,
      asked,
      pool,
      async fill(size) {
        await pool.query(`INSERT INTO "${name}" ${tokenSetsInSql}`, [size]);
        await pool.query(`VACUUM ANALYZE "${name}"`); // as autovacuum leaves a table it has visited
      },
      async bytes() {
        const { rows } = await pool.query("SELECT pg_total_relation_size($1::regclass) AS bytes", [
          `"${name}"`,
        ]);
        return Number(rows[0].bytes);
      },
      /** A day: everybody once, in random order; vacuumed each time a fifth is dead, as autovacuum does by default. */
      async renewAll(size) {
        const { rows } = await pool.query(`SELECT domain_prefix FROM "${name}" ORDER BY random()`);
        const batch = 100;
        for (let from = 0; from < size; from += batch) {
          const prefixes = rows.slice(from, from + batch).map((row) => row.domain_prefix);
          await pool.query(
            `UPDATE "${name}" SET access_token = md5(random()::text) || md5(random()::text), expires_at = expires_at + 1,
               refresh_token = md5(random()::text) || md5(random()::text), issued_at = issued_at + 1,
               version = gen_random_uuid(), refused_at = NULL
             WHERE domain_prefix = ANY ($1)`,
            [prefixes],
          );
          if ((from / size) % 0.2 < batch / size) await pool.query(`VACUUM "${name}"`);
        }
      },
      /** Of the whole server. */
      async connections() {
        const { rows } = await pool.query(
          "SELECT count(*) AS count FROM pg_stat_activity WHERE backend_type = 'client backend'",
        );
        return Number(rows[0].count);
      },
      remove: () => pool.query(`DROP TABLE IF EXISTS "${name}", "${name}_lock"`),
      close: () => pool.end(),
    };
  },

  async sqlite(name) {
    const file = join(tmpdir(), `${name}.sqlite`);
    const database = new Database(file);
    const asked = {};
    const tokens = sqliteTokens({ database: countedDatabase(database, asked) });
    return {
      tokens,
      asked,
      async fill(size) {
        database.exec("PRAGMA synchronous = OFF"); // each save is a transaction of its own
        await saveAll(tokens.store, size);
        database.exec("PRAGMA synchronous = FULL");
      },
      async bytes() {
        database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
        return statSync(file).size;
      },
      remove: async () => {
        for (const suffix of ["", "-wal", "-shm"]) rmSync(file + suffix, { force: true });
      },
      close: async () => database.close(),
    };
  },
};

/** Random ones, through the store, down to the last field. */
export async function verify({ tokens: { store } }, size) {
  for (let look = 0; look < 200; look += 1) {
    const expected = tokenSet(Math.floor(Math.random() * size));
    const { access, ...rest } = await store.load(expected.domainPrefix);
    assert.deepEqual({ ...rest, access: { ...access } }, expected);
  }
}

async function saveAll(store, size) {
  for (let from = 0; from < size; from += PIPELINED) {
    const until = Math.min(from + PIPELINED, size);
    const saves = Array.from({ length: until - from }, (_, index) => store.save(tokenSet(from + index)));
    assert((await Promise.all(saves)).every(Boolean));
  }
}

/** Every command of the store is a script; what it does tells them apart. */
function countScripts(client) {
  const kinds = [
    [/HGETALL/, "load"],
    [/HSET/, "save"],
    [/PEXPIRE/, "extend"],
    [/'SET'/, "take"],
    [/'GET'.*'DEL'/s, "release"],
  ];
  return counted(client, "eval", (script) => kinds.find(([pattern]) => pattern.test(script))?.[1]);
}

function countStatements(pool) {
  const kinds = [
    [/^\s*SELECT/, "load"],
    [/INSERT INTO "\w+_lock"/, "take"],
    [/UPDATE "\w+_lock"/, "extend"],
    [/DELETE FROM "\w+_lock"/, "release"],
    [/^\s*UPDATE/, "save"],
  ];
  return counted(pool, "query", (sql) => kinds.find(([pattern]) => pattern.test(sql))?.[1]);
}

function countedDatabase(database, asked) {
  const kinds = [
    [/^\s*SELECT domain_prefix/, "load"],
    [/INSERT INTO "\w+_lock"/, "take"],
    [/UPDATE "\w+_lock"/, "extend"],
    [/DELETE FROM "\w+_lock"/, "release"],
    [/^\s*UPDATE/, "save"],
  ];
  return {
    exec: (sql) => database.exec(sql),
    prepare(sql) {
      const kind = kinds.find(([pattern]) => pattern.test(sql))?.[1] ?? "other";
      const statement = database.prepare(sql);
      const run =
        (method) =>
        (...values) => {
          asked[kind] = (asked[kind] ?? 0) + 1;
          return statement[method](...values);
        };
      return { get: run("get"), all: run("all"), run: run("run") };
    },
  };
}

function counted(target, method, kindOf) {
  const asked = {};
  const original = target[method].bind(target);
  target[method] = (text, ...rest) => {
    const kind = kindOf(text) ?? "other";
    asked[kind] = (asked[kind] ?? 0) + 1;
    return original(text, ...rest);
  };
  return asked;
}
