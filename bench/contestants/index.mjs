/** By file name, in the order of the tables. */
export const RENEWING = [
  "ours",
  "hand-written",
  "hand-written-promise-map",
  "google-auth-library",
  "simple-oauth2",
  "openid-client",
];

/**
 * Loads one contestant, and nothing of the others: `{ name, create(setup) }`.
 *
 * `create({ ...APPLICATION, baseUrl, tokenUrl, tokens })` returns or resolves with
 * `{ bearer(retailer) → Promise<string> }`; `tokens` maps each retailer to `{ accessToken, refreshToken, expiresAt }`.
 * With `marginMs`, it renews a token so many milliseconds before its expiry. A library that hands out an object with
 * the token in it has two more: `ask` gets the object (the scenario `warm` measures that), `read` takes the token
 * from it.
 */
export async function contestant(file) {
  return (await import(`./${file}.mjs`)).default;
}
