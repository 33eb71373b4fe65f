/**
 * The glue for a library that only speaks the protocol: a Map of tokens, and one renewal for all callers of a
 * retailer.
 *
 * @param setup whose `tokens`, and how long before their end they are renewed.
 * @param refresh `(retailer, refreshToken) => Promise<token response>`
 */
export function joinedRenewals({ tokens, marginMs = 0 }, refresh) {
  const renewing = new Map();

  async function bearer(retailer) {
    const held = tokens.get(retailer);
    if (Date.now() < held.expiresAt - marginMs) return held.accessToken;
    let renewal = renewing.get(retailer);
    if (!renewal) {
      renewal = renew(retailer, held).finally(() => renewing.delete(retailer));
      renewing.set(retailer, renewal);
    }
    return renewal;
  }

  async function renew(retailer, { refreshToken }) {
    const { access_token, refresh_token = refreshToken, expires_in } = await refresh(retailer, refreshToken);
    const expiresAt = Date.now() + expires_in * 1000;
    tokens.set(retailer, { accessToken: access_token, refreshToken: refresh_token, expiresAt });
    return access_token;
  }

  return { bearer };
}
