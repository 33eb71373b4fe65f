import {
  type DomainPrefix,
  parseDomainPrefix,
  type RetailPos,
  retailPos,
  type TokenSet,
  type TokenStore,
} from "@retail-pos/core";

/** An instant in the middle of a day, wherever the tests run. */
export const NOON: number = new Date(2030, 5, 15, 12).getTime();
export const HOUR = 3_600_000;

/** A token set of a retailer; its secrets are easily found where they should not be. */
export function setOf(name: string, changes: Partial<TokenSet> = {}): TokenSet {
  const domainPrefix: DomainPrefix = parseDomainPrefix(name);
  return {
    domainPrefix,
    access: { value: `access-canary-${name}`, expiresAt: NOON + 6 * HOUR },
    refreshToken: `refresh-canary-${name}`,
    issuedAt: NOON - 2 * HOUR,
    version: `version-of-${name}`,
    ...changes,
  };
}

/** Of an application that is asked for nothing over the wire. */
export function clientOn(store: TokenStore): RetailPos {
  const settings = { clientId: "application", clientSecret: "canary-client-secret", cacheMs: 0 };
  return retailPos({ baseUrl: "http://localhost:9/{domain_prefix}", ...settings, store, clock: () => NOON });
}

/** Every set in a store, by retailer. */
export async function contentsOf(store: TokenStore): Promise<Map<string, TokenSet>> {
  const sets = new Map<string, TokenSet>();
  for await (const { domainPrefix } of clientOn(store).retailers()) {
    const set = await store.load(domainPrefix);
    if (set) sets.set(domainPrefix, set);
  }
  return sets;
}
