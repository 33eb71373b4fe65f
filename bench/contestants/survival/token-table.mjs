import { setTimeout as sleep } from "node:timers/promises";

/** The tokens of all retailers in a table of PostgreSQL: what somebody writes who needs no library for it. */
export function tokenTable(pool, table) {
  return {
    migrate: () =>
      pool.query(`CREATE TABLE IF NOT EXISTS "${table}"
        (retailer text PRIMARY KEY, access_token text, refresh_token text, expires_at bigint)`),

    async load(retailer) {
      const { rows } = await patiently(10_000, () =>
        pool.query(`SELECT * FROM "${table}" WHERE retailer = $1`, [retailer]),
      );
      const [{ access_token, refresh_token, expires_at }] = rows;
      return { accessToken: access_token, refreshToken: refresh_token, expiresAt: Number(expires_at) };
    },

    // The refresh token before is spent: what is never saved is lost.
    async save(retailer, { accessToken, refreshToken, expiresAt }) {
      await patiently(25_000, () =>
        pool.query(
          `INSERT INTO "${table}" VALUES ($1, $2, $3, $4) ON CONFLICT (retailer)
           DO UPDATE SET access_token = $2, refresh_token = $3, expires_at = $4`,
          [retailer, accessToken, refreshToken, expiresAt],
        ),
      );
    },
  };
}

/** Both may be done twice, so a database that was away is asked again: not by everybody at the same moment. */
async function patiently(forMs, query) {
  const until = Date.now() + forMs;
  for (;;) {
    try {
      return await query();
    } catch (error) {
      if (Date.now() > until) throw error;
      await sleep(1000 * Math.random());
    }
  }
}
