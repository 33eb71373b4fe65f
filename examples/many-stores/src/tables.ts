/** The application's own tables, in SQL that both engines understand. Tokens and sessions have theirs beside them. */
export const TABLES: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS people (
    id TEXT PRIMARY KEY,
    email TEXT NOT NULL UNIQUE,
    password TEXT NOT NULL,
    since BIGINT NOT NULL
  )`,
  // Who is logged in. A session names one of these, and is nobody's without it.
  `CREATE TABLE IF NOT EXISTS logins (
    id TEXT PRIMARY KEY,
    person_id TEXT NOT NULL REFERENCES people (id),
    ends_at BIGINT NOT NULL
  )`,
  // What we know of a connected store. It is there as long as somebody is a member.
  `CREATE TABLE IF NOT EXISTS stores (
    domain_prefix TEXT PRIMARY KEY,
    name TEXT,
    pulled_at BIGINT,
    problem TEXT,
    failures INTEGER NOT NULL DEFAULT 0
  )`,
  // Who may act for which store. Every route of a store asks it first.
  `CREATE TABLE IF NOT EXISTS memberships (
    person_id TEXT NOT NULL REFERENCES people (id),
    domain_prefix TEXT NOT NULL REFERENCES stores (domain_prefix),
    since BIGINT NOT NULL,
    PRIMARY KEY (person_id, domain_prefix)
  )`,
  "CREATE INDEX IF NOT EXISTS memberships_of_store ON memberships (domain_prefix)",
  // As they were when the nightly job pulled them.
  `CREATE TABLE IF NOT EXISTS products (
    domain_prefix TEXT NOT NULL REFERENCES stores (domain_prefix),
    position INTEGER NOT NULL,
    name TEXT NOT NULL,
    sku TEXT NOT NULL,
    price TEXT NOT NULL,
    currency TEXT NOT NULL,
    in_stock DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (domain_prefix, position)
  )`,
  // How often somebody tried a password, until when it counts.
  "CREATE TABLE IF NOT EXISTS attempts (key TEXT PRIMARY KEY, tries INTEGER NOT NULL, ends_at BIGINT NOT NULL)",
];
