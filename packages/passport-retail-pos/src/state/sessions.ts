import type { Request } from "express";
import { type PendingLogin, pendingLoginsIn } from "../../../login/src/parts.js";
import { hashOf } from "./hash.js";

/** A session of express-session, koa-session, @fastify/session or @fastify/secure-session. */
export type Session = Record<string, unknown> & {
  save?: (done: (error?: unknown) => void) => unknown;
  regenerate?: (...args: unknown[]) => unknown;
};

/** The session store that express-session puts on the request. */
interface SessionStore {
  get?(id: string, done: (error: unknown, session?: Session | null) => void): void;
}

/** @throws {Error} there is no session middleware, so nobody can log in: the application has to be mended. */
export function sessionOf(req: Request): Session {
  const session = (req as unknown as { session?: Session | null }).session;
  if (typeof session !== "object" || session === null) {
    throw new Error(
      "Login with store needs a session to keep its state in: put session middleware (express-session, " +
        "koa-session) before passport.authenticate(), or give the strategy a state store of your own as `store`",
    );
  }
  return session;
}

/**
 * The session's id, by the names that express-session, koa-session and @fastify/session have for it; a session that is
 * a cookie has none.
 */
export function sessionIdOf(req: Request, session: Session): string | undefined {
  const { sessionID } = req as { sessionID?: unknown };
  const { externalKey, sessionId } = session;
  const names: unknown[] = [sessionID, externalKey, sessionId];
  return names.find((id): id is string => typeof id === "string" && id !== "");
}

/** Who is logged in, as Passport keeps it in the session: a short hash; `undefined` for nobody. */
export function userIn(session: Session): string | undefined {
  const { user } = (session["passport"] ?? {}) as { user?: unknown };
  return user === undefined ? undefined : hashOf(JSON.stringify(user) ?? "").slice(0, 22);
}

/** Writes the logins under way into a session. A proxy may have no way to delete (@fastify/secure-session). */
export function put(session: Session, key: string, pending: readonly PendingLogin[]): void {
  session[key] = pending.length > 0 ? pending : undefined;
  if (pending.length === 0) delete session[key];
}

/** Saves the session now, if it can be saved. */
export function save(req: Request, session: Session): Promise<void> {
  return new Promise((resolve, reject) => {
    // An older koa-session's takes no callback: it only notes that the session is to be written in the end.
    // express-session's takes one, though its wrapper does not declare it.
    const takesCallback = isExpressSession(req) || (session.save?.length ?? 0) > 0;
    if (typeof session.save !== "function" || !takesCallback) resolve();
    else session.save((error) => (error ? reject(error) : resolve()));
  });
}

/** The logins under way as the session store has them now; as this request knows them, if it cannot be asked. */
export function stillPending(req: Request, session: Session, key: string): Promise<PendingLogin[]> {
  const { sessionStore, sessionID } = req as { sessionStore?: SessionStore; sessionID?: string };
  const known = pendingLoginsIn(session[key]);
  return new Promise((resolve) => {
    if (typeof sessionStore?.get !== "function" || sessionID === undefined) return resolve(known);
    sessionStore.get(sessionID, (error, stored) =>
      resolve(error || !stored ? known : pendingLoginsIn(stored[key])),
    );
  });
}

function isExpressSession(req: Request): boolean {
  return typeof (req as { sessionStore?: SessionStore }).sessionStore?.get === "function";
}
