import type { RetailerClient } from "@retail-pos/core";
import { type PlainTime, plainTime } from "./plain-time.js";

/** A product, as the sandbox's sample API has it. The API of your service has its own fields. */
export interface Product {
  readonly name: string;
  readonly sku: string;
  readonly price: string;
  readonly currency: string;
  readonly in_stock: number;
}

/** What the page of a store shows. */
export interface Shelves {
  /** The store's name, or its domain prefix if the API tells no name. */
  readonly name: string;
  readonly products: readonly (Product & { readonly isLow: boolean })[];
  readonly readAt: PlainTime;
}

/** Without a limit a page waits five minutes for an API that does not answer, and so does a process that stops. */
const LONGEST_CALL_MS = 5000;

/** With fewer pieces than this a product runs low. */
const PLENTY = 10;

/**
 * Reads a store's shelves from its API.
 *
 * @param clock epoch milliseconds.
 * @throws {Error} the API did not answer with products.
 */
export async function readShelves(retailer: RetailerClient, clock = Date.now): Promise<Shelves> {
  const [name, products] = await Promise.all([nameOf(retailer), readProducts(retailer)]);
  return {
    name,
    products: products.map((product) => ({ ...product, isLow: product.in_stock < PLENTY })),
    readAt: plainTime(clock()),
  };
}

/** @throws {Error} the API did not answer with products. */
export async function readProducts(retailer: RetailerClient): Promise<Product[]> {
  const answer = await retailer.fetch("api/products", { signal: AbortSignal.timeout(LONGEST_CALL_MS) });
  if (!answer.ok) throw new Error(`The products could not be read: the API answered ${answer.status}`);
  return ((await answer.json()) as { data: Product[] }).data;
}

/**
 * The sandbox's sample API tells the name here; your service may do so elsewhere, or not at all. A page without it is
 * better than none, so whatever goes wrong is no failure.
 */
async function nameOf(retailer: RetailerClient): Promise<string> {
  try {
    const answer = await retailer.fetch("api/retailer", { signal: AbortSignal.timeout(LONGEST_CALL_MS) });
    const { data } = (await answer.json()) as { data?: { name?: unknown } };
    if (answer.ok && typeof data?.name === "string" && data.name.trim() !== "") return data.name;
  } catch {}
  return retailer.domainPrefix;
}
