import type { DomainPrefix } from "./domain-prefix.js";
import { RetailerNotAcceptedError } from "./errors.js";

/** Says whether somebody may log in as this retailer. */
export type AcceptRetailer = (domainPrefix: DomainPrefix) => boolean | Promise<boolean>;

/**
 * Asks the application before a stranger's `domain_prefix` decides which host gets the client secret. Anything but
 * `true` counts as no: a function that forgets to return accepts nobody.
 *
 * @throws {RetailerNotAcceptedError}
 * @throws the application's own error, if its function throws.
 */
export async function throwUnlessAccepted(
  domainPrefix: DomainPrefix,
  acceptRetailer: AcceptRetailer | undefined,
): Promise<void> {
  if (acceptRetailer && (await acceptRetailer(domainPrefix)) !== true)
    throw new RetailerNotAcceptedError({ domainPrefix });
}
