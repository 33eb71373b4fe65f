import { type AddressInfo, connect as connectTo, createServer } from "node:net";
import { inspect } from "node:util";
import { type DomainPrefix, retailPos, StoredTokensError, type TokenSet } from "@retail-pos/core";
import { storeContract } from "@retail-pos/store-contracts";
import type pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { canRun, connect, oldest, schema, setUp, tearDown, url } from "../testing/postgres.js";
import { type PostgresPool, postgresTokens } from "./index.js";

const retailer = "harbour-coffee" as DomainPrefix;
const set: TokenSet = {
  domainPrefix: retailer,
  access: { value: "canary-access", expiresAt: 1_767_225_600_123.5 },
  refreshToken: "canary-refresh",
  issuedAt: 1_767_139_200_456,
  version: "one",
};
const application = {
  authUrl: "https://secure.pos.example",
  baseUrl: "https://{domain_prefix}.pos.example",
  clientId: "id",
  clientSecret: "secret",
  redirectUri: "https://app.example/callback",
};

describe.skipIf(!canRun)("a store on PostgreSQL", () => {
  let pool: pg.Pool;
  const table = `${schema}.tokens`;
  beforeAll(async () => {
    await setUp();
    pool = connect();
    await postgresTokens({ pool, table }).migrate();
  });
  afterAll(tearDown);

  storeContract(test, () => postgresTokens({ pool, table }).store, { shared: true });

  describe("through pg 8.0.3", () => {
    let old: pg.Pool;
    beforeAll(() => {
      old = connect({ max: 4 }, oldest);
    });
    storeContract(test, () => postgresTokens({ pool: old, table }).store, { shared: true });
  });

  describe("whose default isolation is serializable", () => {
    let strict: pg.Pool;
    beforeAll(() => {
      strict = connect({ options: "-c default_transaction_isolation=serializable", max: 4 });
    });
    storeContract(test, () => postgresTokens({ pool: strict, table }).store, { shared: true });
  });

  test("of saves from two connections that replace the same version, round after round, one saves", async () => {
    const stores = [connect({ max: 1 }), connect({ max: 1 })].map(
      (own) => postgresTokens({ pool: own, table }).store,
    );
    let held = set;
    await stores[0]?.save(held);
    for (let round = 0; round < 50; round += 1) {
      const rivals = stores.map((_, index) => ({ ...set, version: `${round}-${index}` }));
      const saved = await Promise.all(
        stores.map((store, index) => store.save(rivals[index] as TokenSet, held)),
      );
      expect(saved.filter(Boolean)).toHaveLength(1);
      held = rivals[saved.indexOf(true)] as TokenSet;
    }
    expect(await stores[1]?.load(retailer)).toEqual(held);
  });

  test("numbers are read exactly, however the application has set its driver up", async () => {
    const types = { getTypeParser: () => (text: string) => `changed ${text}` };
    const strange = connect({
      types: { getTypeParser: (oid: number) => (oid === 25 ? String : types.getTypeParser()) },
    } as object);
    const { store } = postgresTokens({ pool: strange, table });
    const odd = {
      ...set,
      issuedAt: 0.1 + 0.2,
      access: { value: "a", expiresAt: Number.MAX_VALUE },
      refusedAt: -1e-7,
    };
    await store.save(odd);
    expect(await store.load(retailer)).toEqual(odd);
  });

  test("a connection that is cut rejects what it was asked, and the next question finds another", async () => {
    const own = connect({ max: 1 });
    const { store } = postgresTokens({ pool: own, table });
    await store.save(set);
    const client = await own.connect();
    const { rows } = await client.query("SELECT pg_backend_pid() AS pid");
    client.release();
    const slow = own.query("SELECT pg_sleep(60)").catch((error: unknown) => error);
    const waiting = store.load(retailer);
    await pool.query("SELECT pg_terminate_backend($1)", [rows[0].pid]);
    expect(await slow).toBeInstanceOf(Error);
    expect(await waiting).toEqual(set);
  });

  const edits: Record<string, string> = {
    "an empty access token": "access_token = ''",
    "an access token with a line break": "access_token = E'canary\\r\\nx'",
    "no access token": "access_token = NULL",
    "an empty refresh token": "refresh_token = ''",
    "no refresh token": "refresh_token = NULL",
    "an endless expiry": "expires_at = 'Infinity'",
    "an expiry that is no number": "expires_at = 'NaN'",
    "no time of issue": "issued_at = NULL",
    "a refusal that is no number": "refused_at = 'NaN'",
    "no version": "version = NULL",
    "an empty version": "version = ''",
  };
  describe("after somebody edited the record", () => {
    const edited = `${schema}.edited`;
    beforeAll(async () => {
      await postgresTokens({ pool, table: edited }).migrate();
      for (const column of ["access_token", "refresh_token", "issued_at", "version"])
        await pool.query(`ALTER TABLE ${edited} ALTER ${column} DROP NOT NULL`);
    });

    test.each(Object.entries(edits))(
      "%s: StoredTokensError, and the next login replaces it",
      async (_what, edit) => {
        const tokens = postgresTokens({ pool, table: edited });
        await tokens.store.save(set);
        await pool.query(`UPDATE ${edited} SET ${edit}`);
        const error = await tokenOf(tokens);
        expect(error).toBeInstanceOf(StoredTokensError);
        expect(shownBy(error)).not.toContain("canary");
        if (edit.startsWith("version")) expect(await tokens.store.save(set, set)).toBe(false);
        await tokens.store.save(set);
        expect(await tokens.store.load(retailer)).toEqual(set);
      },
    );
  });

  test("a database that is silent ends each call after core's limit; a queued save may be done later", async () => {
    const server = new URL(url);
    const ways: (() => void)[] = [];
    const silent = createServer((client) => {
      ways.push(() => {
        const way = connectTo(Number(server.port || 5432), server.hostname);
        client.pipe(way).pipe(client);
        for (const end of [client, way]) end.on("error", () => client.destroy());
      });
    });
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    const { port } = silent.address() as AddressInfo;
    const unlimited = connect({
      connectionString: Object.assign(new URL(url), { host: `127.0.0.1:${port}` }).href,
    });
    const pos = retailPos({ ...application, ...postgresTokens({ pool: unlimited, table }) });
    const connecting = pos.connect({ ...set, domainPrefix: "silent" as DomainPrefix });
    await expect(connecting).rejects.toMatchObject({ code: "store_failed", operation: "save" });
    for (const open of ways) open();
    const { store } = postgresTokens({ pool, table });
    await expect
      .poll(() => store.load("silent" as DomainPrefix))
      .toMatchObject({ version: expect.any(String) });
    silent.close();
  });

  test("a version that somebody deleted keeps no login out, whose own has an application's mark", async () => {
    const other = `${schema}.unmarked`;
    const { store, migrate } = postgresTokens({ pool, table: other });
    await migrate();
    await store.save(set);
    await pool.query(`ALTER TABLE ${other} ALTER version DROP NOT NULL`);
    await pool.query(`UPDATE ${other} SET version = NULL`);
    const next = { ...set, version: "two~0123abc" };
    expect(await store.save(next)).toBe(true);
    expect(await store.load(retailer)).toEqual(next);
    expect(await store.save({ ...set, version: "three~zzzzzzz" })).toBe(false);
  });

  const layouts: Record<string, string> = {
    "instants as timestamps": `ALTER TABLE $ ALTER issued_at TYPE timestamptz USING now()`,
    "tokens as JSON": `ALTER TABLE $ ALTER access_token TYPE jsonb USING '{"canary":1}'::jsonb`,
    "tokens as bytes": `ALTER TABLE $ ALTER refresh_token TYPE bytea USING 'canary'::bytea`,
    "a column that is gone": `ALTER TABLE $ DROP version`,
  };
  test.each(Object.entries(layouts))(
    "another layout, %s: an error that shows no token",
    async (what, alter) => {
      const other = `${schema}.layout_${what.length}`;
      const tokens = postgresTokens({ pool, table: other });
      await tokens.migrate();
      await tokens.store.save(set);
      await pool.query(alter.replace("$", other));
      const error = await tokenOf(tokens);
      expect(error).toBeInstanceOf(Error);
      expect(shownBy(error)).not.toContain("canary");
      const outcome = await tokens.store.save(set).catch((thrown: unknown) => thrown);
      expect(shownBy(outcome)).not.toContain("canary");
    },
  );

  describe("when a statement fails in the middle", () => {
    const broken = `${schema}.broken`;
    const next: TokenSet = {
      domainPrefix: retailer,
      access: { value: "canary-access-2" },
      refreshToken: "canary-refresh-2",
      issuedAt: 1_767_225_600_000,
      version: "two",
    };
    /** What happens while the row is written, and how PostgreSQL names it. */
    const failures: readonly (readonly [string, string, string])[] = [
      ["the connection is cut", "PERFORM pg_terminate_backend(pg_backend_pid());", "57P01"],
      ["the disk is full", "RAISE 'could not extend file: %', NEW USING ERRCODE = 'disk_full';", "53100"],
      ["the memory is full", "RAISE 'out of memory at %', NEW USING ERRCODE = 'out_of_memory';", "53200"],
      ["the statement takes too long", "PERFORM pg_sleep(60);", "57014"],
      ["the server is a replica now", "SET transaction_read_only = on; CREATE TABLE any_table ();", "25006"],
    ];
    const moments = ["BEFORE", "AFTER"];
    const cases = failures.flatMap(([what, body, code]) =>
      moments.map((moment) => [what, moment, body, code] as const),
    );
    beforeAll(() => postgresTokens({ pool, table: broken }).migrate());

    test.each(cases)(
      "%s, %s the row is written: an error with the SQLSTATE and no token; the stored set stays whole",
      async (_what, moment, body, code) => {
        const timeout = code === "57014" && { statement_timeout: 300 };
        const { store } = postgresTokens({ pool: connect({ max: 1, ...timeout }), table: broken });
        await postgresTokens({ pool, table: broken }).store.save(set);
        await pool.query(`
          CREATE FUNCTION ${broken}_fails() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${body} RETURN NEW; END $$;
          CREATE TRIGGER fails ${moment} INSERT OR UPDATE ON ${broken}
            FOR EACH ROW EXECUTE FUNCTION ${broken}_fails()`);
        try {
          for (const save of [() => store.save(next, set), () => store.save(next)]) {
            const error = await save().catch((thrown: unknown) => thrown);
            expect(error).toMatchObject({
              code: "store_failed",
              operation: "save",
              cause: { code },
              message: expect.stringMatching(
                /^PostgreSQL could not save the tokens of retailer "harbour-coffee": /,
              ),
            });
            expect(shownBy(error)).not.toContain("canary");
            expect(await store.load(retailer)).toEqual(set);
          }
        } finally {
          await pool.query(`DROP FUNCTION ${broken}_fails CASCADE`);
        }
        expect(await store.save(next, set)).toBe(true);
        expect(await store.load(retailer)).toEqual(next);
      },
    );
  });

  test("an error of the database shows no token, though its message, detail or context do", async () => {
    const failing = `${schema}.failing`;
    const { store, migrate } = postgresTokens({ pool, table: failing });
    await migrate();
    const setups = [
      `ALTER TABLE ${failing} ADD CONSTRAINT short CHECK (length(access_token) < 5)`, // detail quotes the row
      // message quotes the value
      `ALTER TABLE ${failing} DROP CONSTRAINT short, ALTER access_token TYPE double precision USING 1`,
      `ALTER TABLE ${failing} ALTER access_token TYPE text;
       CREATE FUNCTION ${schema}.tell() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN RAISE EXCEPTION 'no %', NEW.access_token USING HINT = NEW.refresh_token; END $$;
       CREATE TRIGGER tell BEFORE INSERT ON ${failing} FOR EACH ROW EXECUTE FUNCTION ${schema}.tell()`,
    ];
    const codes = [];
    for (const setup of setups) {
      await pool.query(setup);
      const error = await store.save(set).catch((thrown: unknown) => thrown);
      expect((error as Error).message).toMatch(
        /^PostgreSQL could not save the tokens of retailer "harbour-coffee": /,
      );
      expect(shownBy(error)).not.toContain("canary");
      codes.push(((error as Error).cause as { code?: string }).code);
    }
    expect(codes).toEqual(["23514", "22P02", "P0001"]);
  });

  test("an error that quotes a token in other words has it hidden", async () => {
    const broken: PostgresPool = {
      query: async (_text, values) => Promise.reject(new Error(`cannot send ${values}`)),
    };
    const error = await postgresTokens({ pool: broken })
      .store.save(set)
      .catch((thrown: unknown) => thrown);
    expect((error as Error).message).toContain("cannot send harbour-coffee,[hidden],");
    expect(shownBy(error)).not.toContain("canary");
  });

  test("a table that is missing is named", async () => {
    const { store } = postgresTokens({ pool, table: `${schema}.missing` });
    await expect(store.load(retailer)).rejects.toMatchObject({
      code: "store_failed",
      cause: { code: "42P01" },
      message: expect.stringContaining("missing"),
    });
  });
});

function tokenOf(tokens: ReturnType<typeof postgresTokens>): Promise<unknown> {
  const pos = retailPos({ ...application, ...tokens });
  return pos
    .tokens(retailer)
    .token()
    .catch((thrown: unknown) => thrown);
}

function shownBy(error: unknown): string {
  return inspect(error, { depth: 9, showHidden: true }) + JSON.stringify(error);
}
