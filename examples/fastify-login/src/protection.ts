import helmet from "@fastify/helmet";
import type { FastifyInstance } from "fastify";
import type { Service } from "./environment.js";
import { isFromElsewhere, REFUSAL } from "./same-origin.js";
import { secureHeaders } from "./secure-headers.js";

/** Adds what every answer says to browsers, and refuses what a page of another site sends in our people's names. */
export function protect(app: FastifyInstance, service: Pick<Service, "authUrl" | "redirectUri">): void {
  app.register(helmet, secureHeaders(service));
  // After helmet, so that a refusal has its headers too.
  app.after(() => {
    app.addHook("onRequest", async (request, reply) => {
      if (isFromElsewhere(request.method, request.headers, service.redirectUri))
        return reply.code(403).type("text/plain; charset=utf-8").send(REFUSAL);
    });
  });
  // A page with a store's data is not shown again by Back, once its reader has logged out. Files say it themselves.
  app.addHook("onSend", async (_request, reply) => {
    if (!reply.hasHeader("cache-control")) reply.header("cache-control", "no-store");
  });
}
