import { Form } from "react-router";
import { callApi } from "../retail-pos.server";
import type { Route } from "./+types/products";

export async function loader({ request }: Route.LoaderArgs) {
  const products = await callApi(request, "api/products");
  if (!products.ok) throw new Response(null, { status: products.status });
  const { data } = (await products.json()) as { data: { id: string; name: string }[] };
  const sales = await callApi(request, "api/sales");
  const { total } = (await sales.json()) as { total: number };
  return { data, total };
}

export async function action({ request }: Route.ActionArgs) {
  const form = await request.formData();
  const body = JSON.stringify({ product_id: form.get("product"), quantity: 1 });
  const headers = { "content-type": "application/json" };
  const sale = await callApi(request, "api/sales", { method: "POST", headers, body });
  if (!sale.ok) throw new Response(null, { status: sale.status });
}

export default function Products({ loaderData: { data, total } }: Route.ComponentProps) {
  return (
    <Form method="post">
      <p>Sales: {total}</p>
      {data.map(({ id, name }) => (
        <button key={id} type="submit" name="product" value={id}>
          Sell {name}
        </button>
      ))}
    </Form>
  );
}
