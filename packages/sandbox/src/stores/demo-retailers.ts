import { readFileSync } from "node:fs";

/** A store as people know it, and the domain prefix its addresses carry. */
export interface NamedStore {
  /** One DNS label. */
  readonly domainPrefix: string;
  /** The name on the consent page and in the console. */
  readonly name: string;
}

export interface Product {
  readonly id: string;
  readonly sku: string;
  readonly name: string;
  /** Decimal text, so that no client reads it as a binary fraction. */
  readonly price: string;
  readonly currency: string;
  readonly in_stock: number;
}

/** The stores of a sandbox nobody configured: six trades, then numbered corner stores. */
export function demoRetailers(count: number): NamedStore[] {
  return Array.from({ length: count }, (_, index) => {
    const trade = trades[index];
    if (trade) return { domainPrefix: trade.domainPrefix, name: trade.name };
    return { domainPrefix: `corner-store-${index + 1}`, name: `Corner Store ${index + 1}` };
  });
}

/**
 * The products of one store: the goods of its trade, again and again until there are `count`. A store of the user's own
 * gets the goods of one of the six trades.
 */
export function productsOf(domainPrefix: string, index: number, count?: number): Product[] {
  const trade = trades.find((known) => known.domainPrefix === domainPrefix) ?? trades[index % trades.length];
  const goods = trade?.goods ?? [];
  return Array.from({ length: count ?? goods.length }, (_, at) => {
    const [name = "", price = "", inStock = 0] = goods[at % goods.length] ?? [];
    const round = Math.floor(at / goods.length) + 1;
    return {
      id: `${domainPrefix}-${at + 1}`,
      sku: `${domainPrefix.slice(0, 3).toUpperCase()}-${String(at + 1).padStart(3, "0")}`,
      name: round === 1 ? name : `${name} (${round})`,
      price,
      currency: "EUR",
      in_stock: inStock,
    };
  });
}

interface Trade extends NamedStore {
  readonly goods: readonly (readonly [name: string, price: string, inStock: number])[];
}

/** In the package beside its code. */
const DEMO_STORES = new URL("../../demo-stores.json", import.meta.url);
const trades: readonly Trade[] = JSON.parse(readFileSync(DEMO_STORES, "utf8"));
