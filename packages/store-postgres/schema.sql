-- The tables of @retail-pos/store-postgres.
CREATE TABLE IF NOT EXISTS "retail_pos_tokens" (
  domain_prefix    text PRIMARY KEY,
  access_token     text NOT NULL,
  expires_at       double precision,
  refresh_token    text NOT NULL,
  issued_at        double precision NOT NULL,
  version          text NOT NULL,
  refused_at       double precision,
  refused_early_at double precision,
  limited_until    double precision,
  scope            text
);
-- Unlogged: who holds a lock need not outlive the server, and taking one waits for no disk.
CREATE UNLOGGED TABLE IF NOT EXISTS "retail_pos_tokens_lock" (
  key      text PRIMARY KEY,
  owner    text NOT NULL,
  ends_at  timestamptz NOT NULL
);
-- Claims that have ended are cleared away by it.
CREATE INDEX IF NOT EXISTS "retail_pos_tokens_ends" ON "retail_pos_tokens_lock" (ends_at) WHERE key LIKE 'claim:%';
