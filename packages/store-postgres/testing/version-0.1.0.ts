/** The statements of version 0.1.0, as it had them. */
export const version010 = {
  schema: (table: string): string => `
CREATE TABLE IF NOT EXISTS ${table} (
  domain_prefix text PRIMARY KEY,
  access_token  text NOT NULL,
  expires_at    double precision,
  refresh_token text NOT NULL,
  issued_at     double precision NOT NULL,
  version       text NOT NULL,
  refused_at    double precision
);
-- Unlogged: who holds a lock need not outlive the server, and taking one waits for no disk.
CREATE UNLOGGED TABLE IF NOT EXISTS ${table}_lock (
  key      text PRIMARY KEY,
  owner    text NOT NULL,
  ends_at  timestamptz NOT NULL
);`,
  /** With the seven values of a set. */
  put: (table: string): string => `
    INSERT INTO ${table}
      (domain_prefix, access_token, expires_at, refresh_token, issued_at, version, refused_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7)
    ON CONFLICT (domain_prefix) DO UPDATE SET
      access_token = excluded.access_token, expires_at = excluded.expires_at,
      refresh_token = excluded.refresh_token, issued_at = excluded.issued_at,
      version = excluded.version, refused_at = excluded.refused_at`,
  /** With the seven values of a set, and the version that it replaces. */
  replace: (table: string): string => `
    UPDATE ${table} SET
      access_token = $2, expires_at = $3, refresh_token = $4, issued_at = $5, version = $6, refused_at = $7
    WHERE domain_prefix = $1 AND version = $8`,
};
