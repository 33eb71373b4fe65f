import type { RequestBearer } from "@retail-pos/koa-bearer";

interface Product {
  id: string;
  name: string;
  in_stock: number;
}

interface Sale {
  product_id: string;
  quantity: number;
}

/** Without a limit a call waits five minutes for an API that does not answer, and so does a process that stops. */
const LONGEST_CALL_MS = 5000;

/** What is on the shelves, and how much of it was sold: two calls of the API, joined. */
export async function stockOf(retailer: RequestBearer) {
  const [products, sales] = await Promise.all([
    read<Product>(retailer, "api/products"),
    read<Sale>(retailer, "api/sales"),
  ]);
  return products.map(({ id, name, in_stock }) => ({
    name,
    inStock: in_stock,
    sold: sales.filter((sale) => sale.product_id === id).reduce((sum, { quantity }) => sum + quantity, 0),
  }));
}

async function read<T>(retailer: RequestBearer, path: string): Promise<T[]> {
  const answer = await retailer.fetch(path, { signal: AbortSignal.timeout(LONGEST_CALL_MS) });
  if (!answer.ok) throw new Error(`${path}: the API answered ${answer.status}`);
  return ((await answer.json()) as { data: T[] }).data;
}
