import { type NamedStore, type Product, productsOf } from "./demo-retailers.js";

/** One retailer account of the service. */
export interface Retailer extends NamedStore {
  readonly products: readonly Product[];
  readonly sales: Sale[];
  /**
   * When somebody of this store first approved the application; from then on it counts towards the limit of section 8.
   */
  approvedAt?: number;
}

export interface Sale {
  readonly id: string;
  readonly product_id: string;
  readonly quantity: number;
  readonly total: string;
  readonly sold_at: string;
}

export interface Retailers {
  readonly all: readonly Retailer[];
  find(domainPrefix: string): Retailer | undefined;
  /** For calls from code: throws a TypeError that names the stores there are. */
  get(domainPrefix: string): Retailer;
}

/** Section 8: stores an application marked Not Approved can connect to. */
export const notApprovedLimit = 30;

/** @param products how many each store has; default: those of its trade. */
export function retailerAccounts(stores: readonly NamedStore[], products?: number): Retailers {
  const accounts = stores.map(({ domainPrefix, name }, index): [string, Retailer] => [
    domainPrefix,
    { domainPrefix, name, products: productsOf(domainPrefix, index, products), sales: [] },
  ]);
  const byPrefix = new Map(accounts);
  // A DNS label has no letter case. `String`, because JavaScript and the console may pass anything.
  const find = (domainPrefix: string) => byPrefix.get(String(domainPrefix).toLowerCase());
  return {
    all: [...byPrefix.values()],
    find,
    get(domainPrefix) {
      const retailer = find(domainPrefix);
      if (retailer) return retailer;
      const known = [...byPrefix.keys()].slice(0, 10).join(", ");
      throw new TypeError(`The sandbox has no store "${domainPrefix}". There are: ${known}`);
    },
  };
}

/**
 * Whether this store can be connected. An approved application has no limit, and a connected store can log in again.
 */
export function canConnect(retailers: Retailers, retailer: Retailer, approved: boolean): boolean {
  if (approved || retailer.approvedAt !== undefined) return true;
  return retailers.all.filter(({ approvedAt }) => approvedAt !== undefined).length < notApprovedLimit;
}

/** One lower-case DNS label. */
export function isDomainPrefix(text: unknown): text is string {
  return typeof text === "string" && /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(text);
}
