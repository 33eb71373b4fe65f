import { createHash } from "node:crypto";
import secureSession from "@fastify/secure-session";
import type { FastifyInstance } from "fastify";

declare module "@fastify/secure-session" {
  interface SessionData {
    /** Who is logged in: one store. A real application would keep a user of its own here. */
    store: string;
  }
}

const NAME = "fastify-login";
const TWO_WEEKS_S = 14 * 24 * 60 * 60;

/**
 * Adds `request.session`, which is kept in a sealed cookie.
 *
 * @returns the `Set-Cookie` line of somebody who logs in.
 */
export function addSession(
  app: FastifyInstance,
  secret: string,
  isSecure: boolean,
): (store: string) => string {
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
  return (store) => {
    const session = app.encodeSecureSession(app.createSecureSession({ store }));
    return app.serializeCookie(cookieName, session, cookie);
  };
}
