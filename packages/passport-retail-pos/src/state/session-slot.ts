import type { Request } from "express";

/** A session of express-session, koa-session, @fastify/session or @fastify/secure-session. */
export type Session = Record<string, unknown>;

/** The session of a request; `undefined` without session middleware. */
export function sessionIn(req: Request): Session | undefined {
  const { session } = req as unknown as { session?: Session | null };
  return typeof session === "object" && session !== null ? session : undefined;
}

/** Leaves nothing there that is empty. A proxy may have no way to delete (@fastify/secure-session). */
export function putList(req: Request, key: string, list: readonly unknown[]): void {
  const session = sessionIn(req);
  if (!session || (list.length === 0 && session[key] === undefined)) return;
  session[key] = list.length > 0 ? list : undefined;
  if (list.length === 0) delete session[key];
}
