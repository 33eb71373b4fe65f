/** The tokens of all retailers in a table of PostgreSQL: what somebody writes who needs no library for it. */
export function tokenTable(pool, table) {
  return {
    migrate: () =>
      pool.query(`CREATE TABLE IF NOT EXISTS "${table}"
        (retailer text PRIMARY KEY, access_token text, refresh_token text, expires_at bigint)`),

    async load(retailer) {
      const { rows } = await pool.query(`SELECT * FROM "${table}" WHERE retailer = $1`, [retailer]);
      const [{ access_token, refresh_token, expires_at }] = rows;
      return { accessToken: access_token, refreshToken: refresh_token, expiresAt: Number(expires_at) };
    },

    async save(retailer, { accessToken, refreshToken, expiresAt }) {
      await pool.query(
        `INSERT INTO "${table}" VALUES ($1, $2, $3, $4) ON CONFLICT (retailer)
         DO UPDATE SET access_token = $2, refresh_token = $3, expires_at = $4`,
        [retailer, accessToken, refreshToken, expiresAt],
      );
    },
  };
}
