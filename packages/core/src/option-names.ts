import type { RetailPosOptions } from "./options.js";

const NAMES = Object.keys({
  authUrl: 0,
  baseUrl: 0,
  clientId: 0,
  clientSecret: 0,
  redirectUri: 0,
  scope: 0,
  store: 0,
  lock: 0,
  renewEarlyMs: 0,
  cacheMs: 0,
  timeoutMs: 0,
  userAgent: 0,
  fetch: 0,
  clock: 0,
  observe: 0,
  acceptRetailer: 0,
} satisfies Record<keyof RetailPosOptions, 0>);

/** Other packages' names for our options, and ours without the unit; lower-case, without `_` and `-`. */
const ELSEWHERE: Record<string, keyof RetailPosOptions> = {
  authorizationurl: "authUrl",
  callbackurl: "redirectUri",
  callbackuri: "redirectUri",
  tokenstore: "store",
  renewearly: "renewEarlyMs",
  cache: "cacheMs",
  timeout: "timeoutMs",
};

/**
 * A misspelt option would be ignored, and its default used without a word. Members that a store's factory brings along,
 * like `migrate`, resemble none of ours and are let through.
 *
 * @throws {TypeError} with the right name.
 */
export function refuseMisspelt(options: object): void {
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || NAMES.includes(name)) continue;
    const meant = optionLike(name);
    if (meant) throw new TypeError(`${name} is no option; it is called ${meant} here`);
  }
}

function optionLike(name: string): string | undefined {
  const plain = plainName(name);
  const least = plain.length > 6 ? 2 : 1;
  return (
    NAMES.find((ours) => plainName(ours) === plain) ??
    (Object.hasOwn(ELSEWHERE, plain) ? ELSEWHERE[plain] : undefined) ??
    NAMES.find((ours) => changesBetween(plainName(ours), plain) <= least)
  );
}

function plainName(name: string): string {
  return name.toLowerCase().replace(/[_-]/g, "");
}

/** How many letters have to be added, left out or exchanged to make one of the other (Levenshtein). */
function changesBetween(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (const [index, letter] of [...one].entries()) {
    const next = [index + 1];
    for (let at = 1; at <= other.length; at += 1) {
      const exchanged = (row[at - 1] ?? 0) + (letter === other[at - 1] ? 0 : 1);
      next.push(Math.min(exchanged, (row[at] ?? 0) + 1, (next[at - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[other.length] ?? 0;
}
