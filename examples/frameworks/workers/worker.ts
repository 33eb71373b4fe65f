import { waitUntil } from "cloudflare:workers";
import { isRetailPosError, retailPos, settingsFromEnv } from "@retail-pos/core";
import { type WebHandler, webLogin } from "@retail-pos/login";
import { remember, storeIn } from "./lib/session";

const client = retailPos({
  ...settingsFromEnv(),
  background: (work) => waitUntil(work), // a renewal goes on after the answer
});

// log in with store
const login = webLogin({ client, onLogin: ({ login }) => remember(login.domainPrefix, "/products") });

// call the API
const products: WebHandler = async (request) => {
  const store = await storeIn(request);
  if (!store) return new Response("Log in first\n", { status: 401 });
  const answer = await client.retailer(store).fetch("api/products");
  if (!answer.ok) return new Response(null, { status: answer.status });
  return Response.json(await answer.json());
};

const routes = new Map<string, WebHandler>([
  ["/auth/retail-pos", login.start],
  ["/auth/retail-pos/callback", login.callback],
  ["/products", products],
]);

export default {
  async fetch(request: Request): Promise<Response> {
    const route = routes.get(new URL(request.url).pathname);
    if (!route) return new Response("There is no such page\n", { status: 404 });
    try {
      return await route(request);
    } catch (error) {
      if (isRetailPosError(error)) return error.getResponse();
      throw error;
    }
  },
};
