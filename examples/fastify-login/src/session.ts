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

/** What a request and an answer of the platform, which know no `request.session`, say of it. */
export interface Session {
  /** The `Set-Cookie` line of somebody who logs in. */
  begin(store: string): string;
  /** Who is logged in. */
  storeOf(request: Request): string | undefined;
}

/** Adds `request.session`, which is kept in a sealed cookie. */
export function addSession(app: FastifyInstance, secret: string, isSecure: boolean): Session {
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
  return {
    begin(store) {
      const session = app.encodeSecureSession(app.createSecureSession({ store }));
      return app.serializeCookie(cookieName, session, cookie);
    },
    storeOf(request) {
      const sealed = app.parseCookie(request.headers.get("cookie") ?? "")[cookieName];
      return sealed ? app.decodeSecureSession(sealed)?.get("store") : undefined;
    },
  };
}
