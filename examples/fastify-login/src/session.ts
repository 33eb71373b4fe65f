import { createHash } from "node:crypto";
import secureSession from "@fastify/secure-session";
import type { FastifyInstance, FastifyRequest } from "fastify";

declare module "@fastify/secure-session" {
  interface SessionData {
    /** Who is logged in: one store. A real application would keep a user of its own here. */
    store: string;
  }
}

const NAME = "fastify-login";
const TWO_WEEKS_S = 14 * 24 * 60 * 60;

/** Adds `request.session`, which is kept in a sealed cookie. */
export function addSession(app: FastifyInstance, secret: string, isSecure: boolean): void {
  const cookieName = isSecure ? `__Host-${NAME}` : NAME;
  const cookie = {
    path: "/",
    httpOnly: true,
    sameSite: "lax" as const, // not strict: it has to come along when the service sends the browser back
    secure: isSecure,
    maxAge: TWO_WEEKS_S,
  };
  const key = createHash("sha256").update(`session\n${secret}`).digest();
  app.register(secureSession, { key, cookieName, cookie, expiry: TWO_WEEKS_S });
}

/** One of Fastify's requests as the platform's, with the session of it. Only path and query of its address count. */
export function webRequest({ method, url, headers, session }: FastifyRequest): Request {
  const own = Object.entries(headers).filter(([name]) => !name.startsWith(":")); // not those of HTTP/2
  const request = new Request(new URL(url, "http://localhost"), {
    method,
    headers: own as [string, string][],
  });
  return Object.assign(request, { session });
}

/** The session of a request that `webRequest` made. */
export function sessionOf(request: Request): FastifyRequest["session"] {
  return (request as Request & Pick<FastifyRequest, "session">).session;
}
