import { randomUUID } from "node:crypto";
import type { Row, Sql, Statement, Value } from "./sql.js";
import type { Product } from "./store-api.js";

/** Somebody with an account. */
export interface Person {
  readonly id: string;
  readonly email: string;
}

/** What we know of a store that somebody connected. */
export interface Store {
  readonly domainPrefix: string;
  /** As people call it; its domain prefix until we know better. */
  readonly name: string;
  /** How many people have it. */
  readonly members: number;
  /** How many products the last pull found. */
  readonly products: number;
  /** When the last pull succeeded, epoch milliseconds. */
  readonly pulledAt: number | undefined;
  /** Why no pull has succeeded since: only a login helps, or it is tried again tomorrow. */
  readonly problem: Problem | undefined;
  /** How many pulls have failed since the last one that succeeded. */
  readonly failures: number;
}

export type Problem = "log_in_again" | "tomorrow";

/** So many rows go into one statement: the engines take some tens of thousands of values, and one of them 999. */
const ROWS_AT_ONCE = 100;

/** The application's own tables. `now` is epoch milliseconds. */
export class Records {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** @returns nobody if the address has an account already. */
  async addPerson(email: string, password: string, now: number): Promise<Person | undefined> {
    const rows = await this.#sql.query(
      "INSERT INTO people (id, email, password, since) VALUES (?, ?, ?, ?) ON CONFLICT (email) DO NOTHING RETURNING id, email",
      randomUUID(),
      email,
      password,
      now,
    );
    return rows[0] && personOf(rows[0]);
  }

  /** @returns the login's id. */
  async addLogin(personId: string, endsAt: number): Promise<string> {
    const id = randomUUID();
    await this.#sql.query(
      "INSERT INTO logins (id, person_id, ends_at) VALUES (?, ?, ?)",
      id,
      personId,
      endsAt,
    );
    return id;
  }

  /** Whose login it is, as long as it lasts. */
  async personOfLogin(id: string, now: number): Promise<Person | undefined> {
    const sql = `
      SELECT people.id, people.email FROM logins JOIN people ON people.id = logins.person_id
      WHERE logins.id = ? AND logins.ends_at > ?`;
    const [row] = await this.#sql.query(sql, id, now);
    return row && personOf(row);
  }

  async removeLogin(id: string): Promise<void> {
    await this.#sql.query("DELETE FROM logins WHERE id = ?", id);
  }

  /** With the scrypt of their password. */
  async personByEmail(email: string): Promise<{ person: Person; password: string } | undefined> {
    const [row] = await this.#sql.query("SELECT id, email, password FROM people WHERE email = ?", email);
    return row && { person: personOf(row), password: String(row["password"]) };
  }

  /** The stores of one person, by name. */
  async storesOf(personId: string): Promise<Store[]> {
    return (await this.#sql.query(`${STORES_OF} ORDER BY name, stores.domain_prefix`, personId)).map(storeOf);
  }

  /** A store, if it is one of this person's. */
  async storeOf(personId: string, domainPrefix: string): Promise<Store | undefined> {
    const [row] = await this.#sql.query(`${STORES_OF} AND stores.domain_prefix = ?`, personId, domainPrefix);
    return row && storeOf(row);
  }

  /** Every store that somebody has. */
  async allStores(): Promise<string[]> {
    const rows = await this.#sql.query("SELECT domain_prefix FROM stores ORDER BY domain_prefix");
    return rows.map((row) => String(row["domain_prefix"]));
  }

  async countMembers(domainPrefix: string): Promise<number> {
    const sql = "SELECT count(*) AS members FROM memberships WHERE domain_prefix = ?";
    const [row] = await this.#sql.query(sql, domainPrefix);
    return Number(row?.["members"]);
  }

  async isMember(personId: string, domainPrefix: string): Promise<boolean> {
    const sql = "SELECT 1 FROM memberships WHERE person_id = ? AND domain_prefix = ?";
    return (await this.#sql.query(sql, personId, domainPrefix)).length > 0;
  }

  async addMembership(personId: string, domainPrefix: string, now: number): Promise<void> {
    await this.#sql.together([
      ["INSERT INTO stores (domain_prefix) VALUES (?) ON CONFLICT (domain_prefix) DO NOTHING", domainPrefix],
      [
        "INSERT INTO memberships (person_id, domain_prefix, since) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        personId,
        domainPrefix,
        now,
      ],
    ]);
  }

  async removeMembership(personId: string, domainPrefix: string): Promise<void> {
    const sql = "DELETE FROM memberships WHERE person_id = ? AND domain_prefix = ?";
    await this.#sql.query(sql, personId, domainPrefix);
  }

  /** A store with all that we know of it, and whoever has it. */
  async removeStore(domainPrefix: string): Promise<void> {
    const tables = ["products", "memberships", "stores"];
    await this.#sql.together(
      tables.map((table) => [`DELETE FROM ${table} WHERE domain_prefix = ?`, domainPrefix]),
    );
  }

  async nameStore(domainPrefix: string, name: string): Promise<void> {
    await this.#sql.query("UPDATE stores SET name = ? WHERE domain_prefix = ?", name, domainPrefix);
  }

  /** What the last pull found, whole, in the place of what the one before found. */
  async savePull(domainPrefix: string, products: readonly Product[], now: number): Promise<void> {
    const rows = products.map(({ name, sku, price, currency, inStock }, position): Value[] => [
      domainPrefix,
      position,
      name,
      sku,
      price,
      currency,
      inStock,
    ]);
    const columns = "domain_prefix, position, name, sku, price, currency, in_stock";
    await this.#sql.together([
      ["DELETE FROM products WHERE domain_prefix = ?", domainPrefix],
      ...inserts(`INSERT INTO products (${columns})`, rows),
      [
        "UPDATE stores SET pulled_at = ?, problem = NULL, failures = 0 WHERE domain_prefix = ?",
        now,
        domainPrefix,
      ],
    ]);
  }

  async notePullFailed(domainPrefix: string, problem: Problem): Promise<void> {
    const sql = "UPDATE stores SET problem = ?, failures = failures + 1 WHERE domain_prefix = ?";
    await this.#sql.query(sql, problem, domainPrefix);
  }

  /** The first ones, in the order of the API. */
  async productsOf(domainPrefix: string, atMost: number): Promise<Product[]> {
    const sql =
      "SELECT name, sku, price, currency, in_stock FROM products WHERE domain_prefix = ? ORDER BY position LIMIT ?";
    return (await this.#sql.query(sql, domainPrefix, atMost)).map((row) => ({
      name: String(row["name"]),
      sku: String(row["sku"]),
      price: String(row["price"]),
      currency: String(row["currency"]),
      inStock: Number(row["in_stock"]),
    }));
  }

  /** Counts one try more, and says how many there were since the first of `forMs` milliseconds. */
  async countAttempt(
    key: string,
    forMs: number,
    now: number,
  ): Promise<{ readonly tries: number; readonly endsAt: number }> {
    const sql = `
      INSERT INTO attempts (key, tries, ends_at) VALUES (?, 1, ?)
      ON CONFLICT (key) DO UPDATE SET
        tries = CASE WHEN attempts.ends_at <= ? THEN 1 ELSE attempts.tries + 1 END,
        ends_at = CASE WHEN attempts.ends_at <= ? THEN excluded.ends_at ELSE attempts.ends_at END
      RETURNING tries, ends_at`;
    const [row] = await this.#sql.query(sql, key, now + forMs, now, now);
    return { tries: Number(row?.["tries"]), endsAt: Number(row?.["ends_at"]) };
  }

  async forgetAttempts(key: string): Promise<void> {
    await this.#sql.query("DELETE FROM attempts WHERE key = ?", key);
  }

  /** Attempts and logins whose time is over. */
  async forgetEnded(now: number): Promise<void> {
    await this.#sql.together(
      ["attempts", "logins"].map((table) => [`DELETE FROM ${table} WHERE ends_at <= ?`, now]),
    );
  }
}

const STORES_OF = `
  SELECT stores.domain_prefix, coalesce(name, stores.domain_prefix) AS name, pulled_at, problem, failures,
    (SELECT count(*) FROM memberships AS theirs WHERE theirs.domain_prefix = stores.domain_prefix) AS members,
    (SELECT count(*) FROM products WHERE products.domain_prefix = stores.domain_prefix) AS products
  FROM memberships JOIN stores ON stores.domain_prefix = memberships.domain_prefix
  WHERE memberships.person_id = ?`;

const personOf = (row: Row): Person => ({ id: String(row["id"]), email: String(row["email"]) });

function storeOf(row: Row): Store {
  const { pulled_at: pulledAt, problem } = row;
  return {
    domainPrefix: String(row["domain_prefix"]),
    name: String(row["name"]),
    members: Number(row["members"]),
    products: Number(row["products"]),
    pulledAt: pulledAt === null ? undefined : Number(pulledAt),
    problem: problem === "log_in_again" || problem === "tomorrow" ? problem : undefined,
    failures: Number(row["failures"]),
  };
}

/** As many statements as the rows need. */
function inserts(sql: string, rows: readonly Value[][]): Statement[] {
  const statements: Statement[] = [];
  for (let from = 0; from < rows.length; from += ROWS_AT_ONCE) {
    const some = rows.slice(from, from + ROWS_AT_ONCE);
    const marks = some.map((row) => `(${row.map(() => "?").join(", ")})`).join(", ");
    statements.push([`${sql} VALUES ${marks}`, ...some.flat()]);
  }
  return statements;
}
