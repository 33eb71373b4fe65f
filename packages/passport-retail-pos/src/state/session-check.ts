import type { Request } from "express";
import { personInSession, sessionIn } from "./person.js";

// A login needs no session, so it succeeds where the person is nobody on the next page. The application is told why.

/** What express-session, @fastify/session and koa-session show of themselves on a request. */
interface WithSession {
  readonly sessionID?: string;
  readonly sessionStore?: { get(id: string, done: (error: unknown, session?: unknown) => void): void };
  readonly protocol?: string;
  readonly ctx?: { readonly protocol: string; readonly sessionOptions?: CookieSettings };
}
type CookieSettings = Readonly<Partial<Record<"secure" | "sameSite", unknown>>>;

const SECURE =
  "the session's cookie is Secure and the request is not, so the cookie is not set. If a proxy ends TLS, it has to send " +
  "`X-Forwarded-Proto: https`, and the application has to trust it (Express: `trust proxy`, or express-session's `proxy`, " +
  "which is not seen here; Koa: `app.proxy`; Fastify: `trustProxy`). Without TLS the cookie's `secure` has to be false";
const SAME_SITE =
  "the session's cookie is SameSite=Strict, or None and not Secure, so browsers hold it back. Make it SameSite=Lax";
const LOST =
  "the session's store does not have the session that was saved in it. It may be full, or fail without a word";

/** Tells what a start or a callback shows of the cookie of the session. */
export function checkSessionCookie(req: Request, tell: (problem: string) => void): void {
  const { ctx, protocol, socket } = req as WithSession & { socket?: { encrypted?: boolean } };
  const { secure, sameSite }: CookieSettings = sessionIn(req)?.["cookie"] ?? ctx?.sessionOptions ?? {};
  const isHttps = socket?.encrypted === true || (ctx?.protocol ?? protocol) === "https";
  if (secure === true && !isHttps) tell(SECURE);
  const heldBack = (secure ?? isHttps) ? /^(strict|true)$/i : /^(strict|true|none)$/i;
  if (heldBack.test(String(sameSite))) tell(SAME_SITE);
}

/**
 * Tells if the session of a person whom Passport has just logged in is not in the store that has saved it. koa-session
 * does not show the name under which it saves a session.
 */
export function checkSessionStore(req: Request, tell: (problem: string) => void): void {
  const { sessionID, sessionStore } = req as WithSession;
  if (personInSession(req) === undefined || sessionID === undefined) return;
  try {
    sessionStore?.get(sessionID, (error, session) => {
      if (error || !session) tell(LOST);
    });
  } catch {
    tell(LOST);
  }
}
