// A million retailers that need no list: everything about one follows from its number, here and in SQL alike.
import { createHash } from "node:crypto";

export const LIFETIME_MS = 86_400_000;
/** When every stored set was issued. Time is a variable in this scenario. */
export const T0 = Date.UTC(2030, 0, 1);

/** The token set of retailer `n`, with tokens of 64 characters. */
export function tokenSet(n) {
  return {
    domainPrefix: prefixOf(n),
    access: { value: flat(md5(`access-${n}`) + md5(`access.${n}`)), expiresAt: T0 + LIFETIME_MS },
    refreshToken: flat(md5(`refresh-${n}`) + md5(`refresh.${n}`)),
    issuedAt: T0,
    version: flat(md5(`version-${n}`).replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-")),
  };
}

/** Spread out, as real names are: neighbours in number are no neighbours in an index. */
export function prefixOf(n) {
  return flat(`retailer-${md5(String(n)).slice(0, 12)}`);
}

/** The same sets as a SELECT, in the order of the columns of `@retail-pos/store-postgres`. */
export const tokenSetsInSql = `
  SELECT
    'retailer-' || left(md5(n::text), 12),
    md5('access-' || n) || md5('access.' || n),
    ${T0 + LIFETIME_MS},
    md5('refresh-' || n) || md5('refresh.' || n),
    ${T0},
    md5('version-' || n)::uuid::text,
    NULL
  FROM generate_series(0, $1::int - 1) AS n`;

function md5(text) {
  return createHash("md5").update(text).digest("hex");
}

/** Joined and cut strings keep their parts alive; what comes off the wire is one piece. */
function flat(text) {
  return Buffer.from(text, "latin1").toString("latin1");
}
