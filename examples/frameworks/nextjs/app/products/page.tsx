import { refresh } from "next/cache";
import { callApi } from "../../lib/retail-pos";

export default async function Products() {
  const products = await callApi("api/products");
  if (!products.ok) return <p>The API answered {products.status}</p>;
  const { data } = (await products.json()) as { data: { id: string; name: string }[] };
  const { total = "unknown" }: { total?: number | string } = await (await callApi("api/sales")).json();
  return (
    <form action={sell}>
      <p>Sales: {total}</p>
      {data.map(({ id, name }) => (
        <button key={id} type="submit" name="product" value={id}>
          Sell {name}
        </button>
      ))}
    </form>
  );
}

async function sell(form: FormData) {
  "use server";
  const body = JSON.stringify({ product_id: form.get("product"), quantity: 1 });
  const headers = { "content-type": "application/json" };
  const sale = await callApi("api/sales", { method: "POST", headers, body });
  if (!sale.ok) throw new Error(`The API answered ${sale.status}`);
  refresh();
}
