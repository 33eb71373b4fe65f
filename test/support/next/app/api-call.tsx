import { pos } from "../lib/retail-pos";

/** Calls the API at an address that nothing has called before, so that no cache has its answer. */
export async function ApiCall() {
  const id = crypto.randomUUID();
  const answer = await pos().client.retailer("harbour-coffee").fetch(`api/products?call=${id}`);
  return <main>{`Call ${id} was answered ${answer.status}`}</main>;
}
