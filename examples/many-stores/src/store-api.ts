import type { RetailerClient } from "@retail-pos/core";

/** A product of the sandbox's sample API. The API of your service has its own fields. */
export interface Product {
  readonly name: string;
  readonly sku: string;
  readonly price: string;
  readonly currency: string;
  readonly inStock: number;
}

/** The API's answer is not what was asked for. */
export class ApiError extends Error {
  override readonly name = "ApiError";
}

/** The most products that the API gives at a time. */
export const PAGE_SIZE = 100;
/** An API that always has one page more is not read for ever. */
const MOST_PAGES = 1000;
/** One call with its answer: longer than the nightly job's `fetch` waits for the API's rate limit. */
const LONGEST_CALL_MS = 11 * 60_000;
const LONGEST_TEXT = 1000;

/** All products of a store, page by page. */
export async function readProducts(retailer: RetailerClient, signal?: AbortSignal): Promise<Product[]> {
  const products: Product[] = [];
  for (let page = 1; page <= MOST_PAGES; page += 1) {
    const more = await readPage(retailer, page, signal);
    products.push(...more);
    if (more.length < PAGE_SIZE) return products;
  }
  throw new ApiError(`The API has more than ${MOST_PAGES} pages of products`);
}

/** The products of one page; the first page is 1. */
export async function readPage(
  retailer: RetailerClient,
  page: number,
  signal?: AbortSignal,
): Promise<Product[]> {
  const data = await read(retailer, `api/products?page=${page}&page_size=${PAGE_SIZE}`, signal);
  if (!Array.isArray(data)) throw new ApiError("The API's answer has no list of products");
  return data.map(productFrom);
}

/** The store's name, if the API tells one. */
export async function readName(retailer: RetailerClient, signal?: AbortSignal): Promise<string | undefined> {
  const data = await read(retailer, "api/retailer", signal).catch(() => undefined);
  return textOf(fieldsOf(data)["name"]).trim() || undefined;
}

/** `data` of the answer. */
async function read(retailer: RetailerClient, path: string, signal?: AbortSignal): Promise<unknown> {
  const limits = [AbortSignal.timeout(LONGEST_CALL_MS), ...(signal ? [signal] : [])];
  const answer = await retailer.fetch(path, { signal: AbortSignal.any(limits) });
  if (!answer.ok) {
    await answer.body?.cancel();
    throw new ApiError(`The API answered ${answer.status}`);
  }
  const body: unknown = await answer.json().catch((error: Error) => {
    throw error.name === "SyntaxError" ? new ApiError("The API's answer is no JSON") : error;
  });
  return fieldsOf(body)["data"];
}

/** Checks each field: it goes into our tables and pages. */
function productFrom(entry: unknown): Product {
  const { name, sku, price, currency, in_stock } = fieldsOf(entry);
  return {
    name: textOf(name) || "(without a name)",
    sku: textOf(sku),
    price: textOf(price),
    currency: textOf(currency),
    inStock: Number.isFinite(in_stock) ? (in_stock as number) : 0,
  };
}

const fieldsOf = (value: unknown): Record<string, unknown> => Object(value);

const textOf = (value: unknown): string =>
  typeof value === "string" || typeof value === "number" ? String(value).slice(0, LONGEST_TEXT) : "";
