import { randomUUID } from "node:crypto";
import type { Database } from "libsql";
import type { Product } from "./store-api.js";

/** Somebody with an account. */
export interface Person {
  readonly id: string;
  readonly email: string;
}

/** What we know of a store that somebody connected. */
export interface Store {
  readonly domainPrefix: string;
  /** As people call it; its domain prefix until the service has told us. */
  readonly name: string;
  /** How many people have it. */
  readonly members: number;
  /** How many products the last pull found. */
  readonly products: number;
  /** When the last pull succeeded, epoch milliseconds. */
  readonly pulledAt: number | null;
  /** How many pulls have failed since. */
  readonly failures: number;
}

const TABLES = `
  PRAGMA foreign_keys = ON;
  CREATE TABLE IF NOT EXISTS people (id TEXT PRIMARY KEY, email TEXT NOT NULL UNIQUE, password TEXT NOT NULL);
  -- A store is here as long as somebody has it, with the products of the last pull as JSON.
  CREATE TABLE IF NOT EXISTS stores (
    domain_prefix TEXT PRIMARY KEY,
    name TEXT,
    pulled_at INTEGER,
    products TEXT NOT NULL DEFAULT '[]',
    failures INTEGER NOT NULL DEFAULT 0
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
export class Records {
  readonly #database: Database;

  constructor(database: Database) {
    database.exec(TABLES);
    this.#database = database;
  }

  /** @returns nothing if the address has an account already. */
  addPerson(email: string, password: string): Person | undefined {
    const sql = "INSERT INTO people VALUES (?, ?, ?) ON CONFLICT (email) DO NOTHING RETURNING id, email";
    return this.#first<Person>(sql, randomUUID(), email, password);
  }

  /** With the hash of their password. */
  personByEmail(email: string): (Person & { password: string }) | undefined {
    return this.#first("SELECT id, email, password FROM people WHERE email = ?", email);
  }

  person(id: string): Person | undefined {
    return this.#first<Person>("SELECT id, email FROM people WHERE id = ?", id);
  }

  /** The stores of one person, by name. */
  storesOf(personId: string): Store[] {
    return this.#all<Store>(`${STORES_OF} ORDER BY 2, 1`, personId);
  }

  /** A store, if it is one of this person's. */
  storeOf(personId: string, domainPrefix: string): Store | undefined {
    return this.#first<Store>(`${STORES_OF} AND domain_prefix = ?`, personId, domainPrefix);
  }

  /** Every store that somebody has. */
  allStores(): string[] {
    const rows = this.#all<{ domain_prefix: string }>("SELECT domain_prefix FROM stores ORDER BY 1");
    return rows.map((row) => row.domain_prefix);
  }

  countMembers(domainPrefix: string): number {
    const sql = "SELECT count(*) AS members FROM memberships WHERE domain_prefix = ?";
    return this.#first<{ members: number }>(sql, domainPrefix)?.members ?? 0;
  }

  addMembership(personId: string, domainPrefix: string): void {
    const both = this.#database.transaction(() => {
      this.#run("INSERT INTO stores (domain_prefix) VALUES (?) ON CONFLICT DO NOTHING", domainPrefix);
      this.#run("INSERT INTO memberships VALUES (?, ?) ON CONFLICT DO NOTHING", personId, domainPrefix);
    });
    both();
  }

  removeMembership(personId: string, domainPrefix: string): void {
    this.#run("DELETE FROM memberships WHERE person_id = ? AND domain_prefix = ?", personId, domainPrefix);
  }

  /** A store with its memberships and all that we know of it. */
  removeStore(domainPrefix: string): void {
    this.#run("DELETE FROM stores WHERE domain_prefix = ?", domainPrefix);
  }

  nameStore(domainPrefix: string, name: string): void {
    this.#run("UPDATE stores SET name = ? WHERE domain_prefix = ?", name, domainPrefix);
  }

  /** Replaces what the pull before found. */
  savePull(domainPrefix: string, products: readonly Product[], now: number): void {
    const sql = "UPDATE stores SET products = ?, pulled_at = ?, failures = 0 WHERE domain_prefix = ?";
    this.#run(sql, JSON.stringify(products), now, domainPrefix);
  }

  notePullFailed(domainPrefix: string): void {
    this.#run("UPDATE stores SET failures = failures + 1 WHERE domain_prefix = ?", domainPrefix);
  }

  /** What the last pull found, in the order of the API. */
  productsOf(domainPrefix: string): Product[] {
    const sql = "SELECT products FROM stores WHERE domain_prefix = ?";
    return JSON.parse(this.#first<{ products: string }>(sql, domainPrefix)?.products ?? "[]");
  }

  #first<T>(sql: string, ...values: unknown[]): T | undefined {
    return this.#all<T>(sql, ...values)[0];
  }

  #all<T>(sql: string, ...values: unknown[]): T[] {
    return this.#database.prepare(sql).all(...values) as T[];
  }

  #run(sql: string, ...values: unknown[]): void {
    this.#database.prepare(sql).run(...values);
  }
}
