import { parseDomainPrefix, retailPos } from "@retail-pos/core";

export default {
  name: "ours",
  /** @param parts further options of `retailPos`: a store, a lock, a clock. */
  async create({ baseUrl, clientId, clientSecret, redirectUri, tokens }, parts = {}) {
    const pos = retailPos({
      authUrl: baseUrl.replace("/{domain_prefix}", ""),
      baseUrl,
      clientId,
      clientSecret,
      redirectUri,
      ...parts,
    });
    for (const [retailer, held] of tokens) await pos.connect(tokenSet(retailer, held));
    return {
      pos,
      bearer: async (retailer) => (await pos.tokens(retailer).token()).value,
      ask: (retailer) => pos.tokens(retailer).token(),
      read: ({ value }) => value,
    };
  },
};

/** What a store keeps, made of what the service issued. */
export function tokenSet(retailer, { accessToken, refreshToken, expiresAt, issuedAt = Date.now() }) {
  return {
    domainPrefix: parseDomainPrefix(retailer),
    access: { value: accessToken, expiresAt },
    refreshToken,
    issuedAt,
    version: crypto.randomUUID(),
  };
}
