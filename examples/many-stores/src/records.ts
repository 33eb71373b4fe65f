import { randomUUID } from "node:crypto";
import type { Database } from "libsql";
import type { Product } from "./store-api.js";

/** Somebody with an account. */
export interface Person {
  id: string;
  email: string;
}

/** What we know of a store that somebody connected. */
export interface Store {
  domainPrefix: string;
  name: string; // its domain prefix until the service has told us
  members: number;
  products: number; // how many the last pull found
  pulledAt: number | null; // when a pull last succeeded, epoch milliseconds
  failures: number; // pulls that failed since
}

const TABLES = `
  PRAGMA foreign_keys = ON;
  CREATE TABLE IF NOT EXISTS people (id TEXT PRIMARY KEY, email TEXT NOT NULL UNIQUE, password TEXT NOT NULL);
  -- A store is here as long as somebody has it, with the products of the last pull as JSON.
  CREATE TABLE IF NOT EXISTS stores (
    domain_prefix TEXT PRIMARY KEY, name TEXT, pulled_at INTEGER,
    products TEXT NOT NULL DEFAULT '[]', failures INTEGER NOT NULL DEFAULT 0
  );
  -- Who may act for which store. Every route of a store asks it first.
  CREATE TABLE IF NOT EXISTS memberships (
    person_id TEXT NOT NULL REFERENCES people (id),
    domain_prefix TEXT NOT NULL REFERENCES stores (domain_prefix) ON DELETE CASCADE,
    PRIMARY KEY (person_id, domain_prefix)
  );
  CREATE INDEX IF NOT EXISTS memberships_of_store ON memberships (domain_prefix);`;

const STORES_OF = `
  SELECT domain_prefix AS domainPrefix, coalesce(name, domain_prefix) AS name, pulled_at AS pulledAt, failures,
    json_array_length(products) AS products,
    (SELECT count(*) FROM memberships AS theirs WHERE theirs.domain_prefix = stores.domain_prefix) AS members
  FROM stores JOIN memberships USING (domain_prefix) WHERE person_id = ?`;

/** The application's own tables. */
export function recordsIn(database: Database) {
  database.exec(TABLES);
  const all = <T>(sql: string, ...values: unknown[]) => database.prepare(sql).all(...values) as T[];
  const first = <T>(sql: string, ...values: unknown[]) => all<T>(sql, ...values)[0];
  const run = (sql: string, ...values: unknown[]) => void database.prepare(sql).run(...values);

  return {
    /** @returns nothing if the address has an account already. */
    addPerson(email: string, password: string) {
      const sql = "INSERT INTO people VALUES (?, ?, ?) ON CONFLICT (email) DO NOTHING RETURNING id, email";
      return first<Person>(sql, randomUUID(), email, password);
    },
    person: (id: string) => first<Person>("SELECT id, email FROM people WHERE id = ?", id),
    /** With the hash of their password. */
    personByEmail: (email: string) =>
      first<Person & { password: string }>("SELECT id, email, password FROM people WHERE email = ?", email),

    /** The stores of one person, by name. */
    storesOf: (personId: string) => all<Store>(`${STORES_OF} ORDER BY 2, 1`, personId),
    /** A store, if it is one of this person's. */
    storeOf: (personId: string, domainPrefix: string) =>
      first<Store>(`${STORES_OF} AND domain_prefix = ?`, personId, domainPrefix),
    /** Every store that somebody has. */
    allStores: () =>
      all<{ id: string }>("SELECT domain_prefix AS id FROM stores ORDER BY 1").map(({ id }) => id),

    countMembers: (domainPrefix: string) =>
      all("SELECT 1 FROM memberships WHERE domain_prefix = ?", domainPrefix).length,
    addMembership(personId: string, domainPrefix: string) {
      const addBoth = database.transaction(() => {
        run("INSERT INTO stores (domain_prefix) VALUES (?) ON CONFLICT DO NOTHING", domainPrefix);
        run("INSERT INTO memberships VALUES (?, ?) ON CONFLICT DO NOTHING", personId, domainPrefix);
      });
      addBoth();
    },
    removeMembership: (personId: string, domainPrefix: string) =>
      run("DELETE FROM memberships WHERE person_id = ? AND domain_prefix = ?", personId, domainPrefix),
    /** A store with its memberships and all that we know of it. */
    removeStore: (domainPrefix: string) => run("DELETE FROM stores WHERE domain_prefix = ?", domainPrefix),

    nameStore: (domainPrefix: string, name: string) =>
      run("UPDATE stores SET name = ? WHERE domain_prefix = ?", name, domainPrefix),
    /** Replaces what the pull before found. */
    savePull(domainPrefix: string, products: readonly Product[], now: number) {
      const sql = "UPDATE stores SET products = ?, pulled_at = ?, failures = 0 WHERE domain_prefix = ?";
      run(sql, JSON.stringify(products), now, domainPrefix);
    },
    notePullFailed: (domainPrefix: string) =>
      run("UPDATE stores SET failures = failures + 1 WHERE domain_prefix = ?", domainPrefix),
    /** What the last pull found, in the order of the API. */
    productsOf(domainPrefix: string): Product[] {
      const sql = "SELECT products FROM stores WHERE domain_prefix = ?";
      return JSON.parse(first<{ products: string }>(sql, domainPrefix)?.products ?? "[]");
    },
  };
}
export type Records = ReturnType<typeof recordsIn>;
