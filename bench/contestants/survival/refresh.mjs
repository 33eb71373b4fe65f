/** A token request by hand. Resolves with what is kept of the answer. */
export async function refresh({ tokenUrl, clientId, clientSecret }, retailer, refreshToken) {
  const response = await fetch(tokenUrl(retailer), {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "refresh_token",
      refresh_token: refreshToken,
      client_id: clientId,
      client_secret: clientSecret,
    }),
  });
  if (!response.ok) throw new Error(`The token endpoint answered ${response.status}`);
  return kept(await response.json(), refreshToken);
}

/** @param answer a token response of RFC 6749, section 5.1. */
export function kept({ access_token, refresh_token, expires_in }, refreshToken) {
  return {
    accessToken: access_token,
    refreshToken: refresh_token ?? refreshToken,
    expiresAt: Date.now() + expires_in * 1000,
  };
}
