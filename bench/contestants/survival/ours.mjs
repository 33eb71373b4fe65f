import { retailPos } from "@retail-pos/core";
import { retailFetch } from "@retail-pos/fetch";
import { tokenSet } from "../ours.mjs";

/** @param tokens `{ store, lock, migrate }` of one of our token stores. */
export function ours({ tokens, baseUrl, clientId, clientSecret, redirectUri }) {
  const { migrate = async () => {}, store, lock } = tokens;
  const authUrl = baseUrl.replace("/{domain_prefix}", "");
  const pos = retailPos({
    authUrl,
    baseUrl,
    clientId,
    clientSecret,
    redirectUri,
    store,
    lock,
    fetch: retailFetch(),
  });
  return {
    migrate,
    endsByItself: true, // as our documents ask: a new token is saved first
    logIn: (retailer, tokens) => pos.connect(tokenSet(retailer, tokens)),
    bearer: async (retailer) => (await pos.tokens(retailer).token()).value,
  };
}
