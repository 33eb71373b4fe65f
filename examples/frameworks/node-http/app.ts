import { createServer } from "node:http";
import { isRetailPosError, retailPos, settingsFromEnv } from "@retail-pos/core";
import { nodeHandler, type WebHandler, webLogin } from "@retail-pos/login";
import { remember, storeIn } from "./lib/session.js";

const { PORT = 3000 } = process.env;
const client = retailPos(settingsFromEnv());

// log in with store
const login = webLogin({ client, onLogin: ({ login }) => remember(login.domainPrefix, "/products") });

// call the API
const products: WebHandler = async (request) => {
  const store = await storeIn(request);
  if (!store) return new Response(null, { status: 302, headers: { location: "/auth/retail-pos" } });
  const answer = await client.retailer(store).fetch("api/products");
  if (!answer.ok) return new Response(null, { status: answer.status });
  return Response.json(await answer.json());
};

const routes = new Map<string, WebHandler>([
  ["/auth/retail-pos", login.start],
  ["/auth/retail-pos/callback", login.callback],
  ["/products", products],
]);

const answer: WebHandler = (request) => {
  const route = routes.get(new URL(request.url).pathname);
  return route ? route(request) : new Response("There is no such page\n", { status: 404 });
};

const server = nodeHandler(answer, {
  onError(error, res) {
    const { status = 500, headers = {} } = isRetailPosError(error) ? error : {};
    if (status >= 500) console.error(error);
    if (status === 401)
      res.writeHead(302, { location: "/auth/retail-pos" }).end(); // only a login helps
    else res.writeHead(status, headers).end();
  },
});

createServer(server).listen(PORT);
