/** By file name, in the order of the tables. */
export const RENEWING = [
  "ours",
  "hand-written",
  "hand-written-promise-map",
  "google-auth-library",
  "simple-oauth2",
  "openid-client",
];

/** Loads one contestant, and nothing of the others: `{ name, create(setup) }`. */
export async function contestant(file) {
  return (await import(`./${file}.mjs`)).default;
}
