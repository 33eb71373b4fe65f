import secureSession, { type Session } from "@fastify/secure-session";
import { retailPos, settingsFromEnv } from "@retail-pos/core";
import { bearer } from "@retail-pos/fastify-bearer";
import { webLogin } from "@retail-pos/login";
import Fastify, { type FastifyRequest } from "fastify";

declare module "@fastify/secure-session" {
  interface SessionData {
    store: string;
  }
}

const { PORT = 3000, SESSION_SECRET: secret = "", RETAIL_POS_REDIRECT_URI = "" } = process.env;
const client = retailPos(settingsFromEnv());

const app = Fastify({ exposeHeadRoutes: false }); // its own HEAD routes fail on a Response
const secure = RETAIL_POS_REDIRECT_URI.startsWith("https:");
const cookieName = secure ? "__Host-session" : "session"; // no other host of your domain can set it
await app.register(secureSession, {
  secret, // 32 characters or more
  salt: "fastify sessions",
  cookieName,
  cookie: { path: "/", httpOnly: true, sameSite: "lax", secure },
});

// log in with store
const { start, callback } = webLogin({
  client,
  onLogin: ({ request, login }) => {
    sessions.get(request)?.set("store", login.domainPrefix);
    return new Response(null, { status: 303, headers: { location: "/products" } });
  },
});
app.get("/auth/retail-pos", (request) => start(webRequest(request)));
app.get("/auth/retail-pos/callback", (request) => callback(webRequest(request)));

const sessions = new WeakMap<Request, Session>(); // Fastify's, by the request that onLogin is given
function webRequest({ method, url, headers, session }: FastifyRequest): Request {
  const own = Object.entries(headers).filter(([name]) => !name.startsWith(":")); // not those of HTTP/2
  const address = new URL(RETAIL_POS_REDIRECT_URI); // the host that a request names may be forged
  const [pathname = ""] = url.split("?");
  Object.assign(address, { pathname, search: url.slice(pathname.length) });
  const request = new Request(address, { method, headers: own as [string, string][] });
  sessions.set(request, session);
  return request;
}

// call the API
const fresh = bearer({ client, retailer: (request) => request.session.get("store") });
app.get("/products", { preHandler: fresh }, async (request, reply) => {
  const products = await request.retailPos.fetch("api/products");
  return products.ok ? products.json() : reply.code(products.status).send();
});

await app.listen({ port: Number(PORT) });
