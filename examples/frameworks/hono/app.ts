import { serve } from "@hono/node-server";
import { retailPos, settingsFromEnv } from "@retail-pos/core";
import { bearer } from "@retail-pos/hono-bearer";
import { webLogin } from "@retail-pos/login";
import { Hono } from "hono";
import { remember, storeIn } from "./lib/session.js";

const { PORT = 3000 } = process.env;
const client = retailPos(settingsFromEnv());
const app = new Hono();

// log in with store
const login = webLogin({ client, onLogin: ({ login }) => remember(login.domainPrefix, "/products") });
app.get("/auth/retail-pos", (c) => login.start(c.req.raw));
app.get("/auth/retail-pos/callback", (c) => login.callback(c.req.raw));

// call the API
app.get("/products", bearer({ client, retailer: (c) => storeIn(c.req.raw) }), async (c) => {
  const products = await c.var.retailPos.fetch("api/products");
  if (!products.ok) return new Response(null, { status: products.status });
  return c.json(await products.json());
});

serve({ fetch: app.fetch, port: Number(PORT) });
