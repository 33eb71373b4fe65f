import { parseRateLimit, type RetailerClient } from "@retail-pos/core";

/** A product, with what the sandbox's sample API says of it. The API of your service has its own fields. */
export interface Product {
  readonly name: string;
  readonly sku: string;
  readonly price: string;
  readonly currency: string;
  readonly inStock: number;
}

/** The API answered, and not with what was asked for. */
export class ApiError extends Error {
  override readonly name = "ApiError";

  /**
   * @param status the answer's; 200 if its body is not what we understand.
   * @param retryAt when to come back, epoch milliseconds, if the answer is a 429.
   */
  constructor(
    message: string,
    readonly status: number,
    readonly retryAt?: number,
  ) {
    super(message);
  }
}

/** How many products the API gives at a time. */
export const PAGE_SIZE = 100;
/** An API that always has one page more is not read for ever. */
const MOST_PAGES = 1000;
/** One call with its answer: longer than the 429 that the nightly job's `fetch` waits out. */
const LONGEST_CALL_MS = 90_000;
/** A 429 that does not say when to come back. */
const MINUTE_MS = 60_000;
const LONGEST_TEXT = 1000;

/**
 * All products of a store, page by page.
 *
 * @param signal ends it, in the middle of a call too.
 * @throws {ApiError} the API answered with something else.
 */
export async function readProducts(retailer: RetailerClient, signal?: AbortSignal): Promise<Product[]> {
  const products: Product[] = [];
  for (let page = 1; page <= MOST_PAGES; page += 1) {
    const more = await readPage(retailer, page, signal);
    products.push(...more);
    if (more.length < PAGE_SIZE) return products;
  }
  throw new ApiError(`The API has more than ${MOST_PAGES} pages of products`, 200);
}

/** The first products of a store, up to {@link PAGE_SIZE}: one call, for a page that somebody waits for. */
export function readFirstProducts(retailer: RetailerClient, signal?: AbortSignal): Promise<Product[]> {
  return readPage(retailer, 1, signal);
}

async function readPage(retailer: RetailerClient, page: number, signal?: AbortSignal): Promise<Product[]> {
  const data = await read(retailer, `api/products?page=${page}&page_size=${PAGE_SIZE}`, signal);
  if (!Array.isArray(data)) throw new ApiError("The API's answer has no list of products", 200);
  return data.map(productFrom);
}

/** The store's name, if the API tells one. A store without a name is no failure. */
export async function readName(retailer: RetailerClient, signal?: AbortSignal): Promise<string | undefined> {
  try {
    const data = await read(retailer, "api/retailer", signal);
    const { name } = fieldsOf(data);
    return typeof name === "string" && name.trim() !== "" ? textOf(name) : undefined;
  } catch {
    return undefined;
  }
}

/** `data` of the answer. */
async function read(retailer: RetailerClient, path: string, signal?: AbortSignal): Promise<unknown> {
  const limits = [AbortSignal.timeout(LONGEST_CALL_MS), ...(signal ? [signal] : [])];
  const answer = await retailer.fetch(path, { signal: AbortSignal.any(limits) });
  if (!answer.ok) {
    await answer.body?.cancel();
    const retryAt = answer.status === 429 ? retryAtOf(answer.headers) : undefined;
    throw new ApiError(`The API answered ${answer.status}`, answer.status, retryAt);
  }
  const body: unknown = await answer.json().catch((error: Error) => {
    if (error.name !== "SyntaxError") throw error;
    throw new ApiError("The API's answer is no JSON", answer.status);
  });
  return fieldsOf(body)["data"];
}

/** Another program's texts, which go into our tables and our pages: each field is what we take it for, or a default. */
function productFrom(entry: unknown): Product {
  const { name, sku, price, currency, in_stock } = fieldsOf(entry);
  return {
    name: textOf(name) || "(without a name)",
    sku: textOf(sku),
    price: textOf(price),
    currency: textOf(currency),
    inStock: typeof in_stock === "number" && Number.isFinite(in_stock) ? in_stock : 0,
  };
}

const fieldsOf = (value: unknown): Record<string, unknown> =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};

/** PostgreSQL keeps no text with a NUL in it. */
const textOf = (value: unknown): string =>
  typeof value === "string" || typeof value === "number"
    ? String(value).replaceAll("\0", "").slice(0, LONGEST_TEXT)
    : "";

/** When a 429 says to come back, epoch milliseconds: by Retry-After, else by X-RateLimit-Reset. */
function retryAtOf(headers: Headers): number {
  const now = Date.now();
  const after = headers.get("retry-after") ?? "";
  const at = /^\d{1,9}$/.test(after) ? now + Number(after) * 1000 : Date.parse(after);
  if (at > now) return at;
  const reset = parseRateLimit(headers)?.resetAt ?? 0;
  return reset > now ? reset : now + MINUTE_MS;
}
