import type { RetailerClient } from "@retail-pos/core";

/** A product of the sandbox's sample API. The API of your service has its own fields. */
export interface Product {
  name: string;
  sku: string;
  price: string;
  currency: string;
  inStock: number;
}

/** The most products that the API gives at a time. */
export const PAGE_SIZE = 100;
/** An API that always has one page more is not read for ever. */
const MOST_PAGES = 1000;
/** One call with its answer: longer than the nightly job's `fetch` waits for the API's rate limit. */
const LONGEST_CALL_MS = 11 * 60_000;

/** All products of a store, page by page. */
export async function readProducts(retailer: RetailerClient, signal?: AbortSignal): Promise<Product[]> {
  const products: Product[] = [];
  for (let page = 1; page <= MOST_PAGES; page += 1) {
    const more = await readPage(retailer, page, signal);
    products.push(...more);
    if (more.length < PAGE_SIZE) return products;
  }
  throw new Error(`The API has more than ${MOST_PAGES} pages of products`);
}

/** The products of one page; the first page is 1. */
export async function readPage(retailer: RetailerClient, page: number, signal?: AbortSignal) {
  const data = await read(retailer, `api/products?page=${page}&page_size=${PAGE_SIZE}`, signal);
  if (!Array.isArray(data)) throw new Error("The API's answer has no list of products");
  return data.map(productFrom);
}

/** The store's name, if the API tells one. */
export async function readName(retailer: RetailerClient, signal?: AbortSignal): Promise<string> {
  const data = await read(retailer, "api/retailer", signal).catch(() => undefined);
  return textOf(Object(data).name).trim();
}

/** `data` of the answer. */
async function read(retailer: RetailerClient, path: string, signal?: AbortSignal): Promise<unknown> {
  const limits = [AbortSignal.timeout(LONGEST_CALL_MS), ...(signal ? [signal] : [])];
  const answer = await retailer.fetch(path, { signal: AbortSignal.any(limits) });
  if (answer.ok) return Object(await answer.json()).data;
  await answer.body?.cancel();
  throw new Error(`The API answered ${answer.status}`);
}

/** Checks each field: it goes into our tables and pages. */
function productFrom(entry: unknown): Product {
  const { name, sku, price, currency, in_stock } = Object(entry);
  return {
    name: textOf(name) || "(without a name)",
    sku: textOf(sku),
    price: textOf(price),
    currency: textOf(currency),
    inStock: Number.isFinite(in_stock) ? in_stock : 0,
  };
}

const textOf = (value: unknown): string =>
  typeof value === "string" || typeof value === "number" ? String(value).slice(0, 1000) : "";
