import { fileURLToPath } from "node:url";
import formbody from "@fastify/formbody";
import serveStatic from "@fastify/static";
import view from "@fastify/view";
import { isRetailPosError, type RetailPosOptions, retailPos } from "@retail-pos/core";
import { retailFetch } from "@retail-pos/fetch";
import ejs from "ejs";
import Fastify, {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
  LogController,
} from "fastify";
import { logEvents } from "./event-log.js";
import { addLogin } from "./login.js";
import { problemOf } from "./problems.js";
import { protect } from "./protection.js";
import { isReady } from "./ready.js";
import { addSession } from "./session.js";
import type { Settings } from "./settings.js";
import { readShelves } from "./shelves.js";

/** What the application may be given: a logger, and whatever the client takes. */
export interface Parts extends Partial<RetailPosOptions> {
  logger?: FastifyServerOptions["logger"];
  /** Aborted when the process is to end. */
  stopping?: AbortSignal;
}

/** As Node's own. Fastify's 72 seconds would keep a process that stops until its connections are cut. */
const KEEP_ALIVE_MS = 5000;

/** The whole application. Tokens that nobody gives it a place for are in memory. */
export function createApp(
  { port, host, databaseFile, sessionSecret, ...service }: Settings,
  { logger = false, stopping, ...more }: Parts = {},
): FastifyInstance {
  const app = Fastify({
    logger,
    // The address of each request would be logged, and a callback's has the code in it.
    logController: new LogController({ disableRequestLogging: true }),
    keepAliveTimeout: KEEP_ALIVE_MS,
  });
  const client = retailPos({ ...service, fetch: retailFetch(), observe: logEvents(app.log), ...more });
  protect(app, service);
  app.register(serveStatic, { root: folder("public"), wildcard: false });
  app.register(view, { engine: { ejs }, root: folder("views") });
  app.register(formbody);
  app.get("/health", () => ({ status: "ok" }));
  app.get("/ready", async (_request, reply) => {
    const ready = await isReady(client, stopping);
    return reply.code(ready ? 200 : 503).send({ status: ready ? "ready" : "not ready" });
  });
  addSession(app, sessionSecret, service.redirectUri.startsWith("https:"));

  app.register(async (routes) => {
    const fresh = addLogin(routes, { client, secret: sessionSecret, clock: more.clock });

    routes.get("/", (request, reply) =>
      request.session.get("store") ? reply.redirect("/products") : reply.view("welcome.ejs"),
    );
    routes.get("/products", { preHandler: [requireLogin, fresh] }, async ({ retailPos }, reply) => {
      const shelves = await readShelves(retailPos, more.clock);
      return reply.view("products.ejs", { store: retailPos.domainPrefix, shelves });
    });
    routes.post("/logout", (request, reply) => {
      request.session.delete();
      return reply.redirect("/");
    });
    routes.get("/disconnect", { preHandler: requireLogin }, ({ session }, reply) =>
      reply.view("disconnect.ejs", { store: session.get("store") }),
    );
    routes.post("/disconnect", async (request, reply) => {
      const store = request.session.get("store");
      if (store) await client.disconnect(store);
      request.session.delete();
      return reply.redirect("/");
    });
  });

  app.setNotFoundHandler((request, reply) => showProblem(request, reply.code(404), "not_found"));
  app.setErrorHandler(showError);
  return app;
}

/** Lets nobody through who is not logged in. */
function requireLogin(request: FastifyRequest, reply: FastifyReply, done: () => void): void {
  if (request.session.get("store")) done();
  else reply.redirect("/");
}

/** A page for whatever went wrong. Core's errors know their status, and headers such as Retry-After. */
function showError(error: FastifyError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const known = isRetailPosError(error);
  const status = error.statusCode ?? 500;
  if (status >= 500) request.log.error(error);
  if (known) reply.headers({ ...error.headers });
  return showProblem(request, reply.code(status), known ? error.code : "error", error);
}

/** A request may be refused before its session is read. */
function showProblem(
  request: FastifyRequest,
  reply: FastifyReply,
  code: string,
  error?: unknown,
): FastifyReply {
  const session: typeof request.session | null = request.session;
  const store = session?.get("store");
  return reply.view("problem.ejs", { store, problem: problemOf({ code, store, error }) });
}

function folder(name: string): string {
  return fileURLToPath(new URL(`../${name}`, import.meta.url));
}
