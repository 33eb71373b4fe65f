import { plainFetch } from "../platform/fetch.js";
import { baseUrlOf, secureUrl, sharesOrigin, withoutTrailingSlash } from "../settings/addresses.js";
import { refuseMisspelt, refuseStrayCharacters } from "../settings/option-checks.js";
import { type DomainPrefix, parseDomainPrefix } from "../vocabulary/domain-prefix.js";
import { kindOf, ReconnectRequiredError } from "../vocabulary/errors.js";
import { isBearerValue, redactedAccess } from "../vocabulary/token-set.js";
import { type RetailerClient, retailerClients } from "./retailer-client.js";

/** A Personal Token and its retailer. */
export interface PersonalTokenOptions {
  /** {base_url}: the template with `{domain_prefix}`, or the retailer's own address. */
  baseUrl: string;
  /** The retailer that the token belongs to. */
  domainPrefix: string;
  /** The token, created by an admin of the store (2.4, R7). */
  token: string;
  /** Sends the API calls; default `globalThis.fetch`. */
  fetch?: typeof globalThis.fetch | undefined;
}

/**
 * Makes a client with a Personal Token (R7): without renewal, and without requests to the token endpoint. `fetch`
 * returns a 401 of the API as it is; `token({ rejected })` then throws a `ReconnectRequiredError`.
 *
 * @throws {TypeError} naming the option. @throws {InvalidDomainPrefixError}
 */
export function personalToken(options: PersonalTokenOptions): RetailerClient {
  if (typeof options !== "object" || options === null)
    throw new TypeError("personalToken must be an object: { baseUrl, domainPrefix, token }");
  refuseMisspelt(options, ["baseUrl", "domainPrefix", "token", "fetch"], { personaltoken: "token" });
  const { baseUrl, token, fetch } = options;
  const domainPrefix = parseDomainPrefix(options.domainPrefix);
  if (typeof token === "string") refuseStrayCharacters("token", token);
  if (!isBearerValue(token))
    throw new TypeError(
      `token must be a Personal Token: printable text without spaces; ${kindOf(token)} was given`,
    );
  if (fetch !== undefined && typeof fetch !== "function") throw new TypeError("fetch must be a function");

  const isTemplate = typeof baseUrl === "string" && baseUrl.includes("{domain_prefix}");
  const address = isTemplate
    ? baseUrlOf(baseUrl)(domainPrefix)
    : withoutTrailingSlash(secureUrl("baseUrl", baseUrl).href);
  const access = Object.freeze(redactedAccess({ value: token }));
  const clientOf = retailerClients({
    sharesOrigin: isTemplate ? sharesOrigin(baseUrl) : isSegmentOf(domainPrefix, address),
    fetch: plainFetch(fetch),
    renews: false,
  });
  return clientOf(domainPrefix, address, {
    async token(ask) {
      const { signal, rejected } = ask ?? {};
      signal?.throwIfAborted();
      if (rejected === token) {
        throw new ReconnectRequiredError(
          `The Personal Token of retailer "${domainPrefix}" is refused: it was deleted, or its user reset the ` +
            "password. An admin of the store has to create a new one",
          { domainPrefix },
        );
      }
      return access;
    },
  });
}

/** Whether an address without a placeholder has the domain prefix as a segment of its path. */
function isSegmentOf(domainPrefix: DomainPrefix, address: string): boolean {
  return new URL(address).pathname.toLowerCase().split("/").includes(domainPrefix);
}
