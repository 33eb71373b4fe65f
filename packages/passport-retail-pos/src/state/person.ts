import type { Request } from "express";
import { hashOf, LoginFailure, OF_ANOTHER_PERSON, type PendingLogin } from "../../../login/src/parts.js";

/** A session of express-session, koa-session, @fastify/session or @fastify/secure-session. */
export type Session = Record<string, unknown> & {
  save?: (done: (error?: unknown) => void) => unknown;
};

/** The session of a request; `undefined` without session middleware. */
export function sessionIn(req: Request): Session | undefined {
  const { session } = req as unknown as { session?: Session | null };
  return typeof session === "object" && session !== null ? session : undefined;
}

/**
 * Who is logged in, as Passport keeps it in the session, else as `req.user` says: a short hash. `undefined` for nobody.
 */
export async function personIn(req: Request): Promise<string | undefined> {
  const { user } = req as { user?: unknown };
  const text = personInSession(req) ?? (user ? nameOf(user) : undefined);
  return text === undefined ? undefined : (await hashOf(text)).slice(0, 22);
}

/** Express and Koa keep `{ user }` there, Fastify the user itself. After a logout `{}` may be left. */
export function personInSession(req: Request): string | undefined {
  return jsonOf(sessionIn(req)?.["passport"]);
}

/**
 * A login belongs to the person who was logged in when it began. If nobody was, a login may be finished for anybody,
 * because it logs in anyway, but it connects no store to the account of somebody who has logged in since.
 *
 * @param isConnecting whether the login connects a store to the person who is logged in (Passport's `authorize`).
 * @throws {LoginFailure} `state_unknown`.
 */
export async function checkPerson(
  req: Request,
  { user }: PendingLogin,
  isConnecting: boolean,
): Promise<void> {
  if (user === undefined && !isConnecting) return;
  if (user !== (await personIn(req))) throw new LoginFailure("state_unknown", OF_ANOTHER_PERSON);
}

/** What names a user; its other properties may change with each request. */
const NAMES = "id _id sub uid uuid oid userId user_id accountId username email".split(" ");

const NO_NAME = /^("\s*"|\[(null)?\]|true)?$/;

/** Who cannot be named, because JSON may not show who it is, counts as somebody else each time. */
function nameOf(user: unknown): string {
  if (typeof user !== "object") return `${typeof user} ${String(user)}`;
  const all = user as Readonly<Record<string, unknown>>;
  const name = NAMES.map((key) => jsonOf(all[key]) ?? "").find((text) => !NO_NAME.test(text));
  const isPlain = [Object.prototype, null].includes(Object.getPrototypeOf(all));
  const isFlat = isPlain && Object.values(all).every((value) => Object(value) !== value);
  return (name || isFlat ? jsonOf([all["iss"], name ?? all]) : undefined) ?? crypto.randomUUID();
}

function jsonOf(value: unknown): string | undefined {
  try {
    const text = JSON.stringify(value, (_, part) => (typeof part === "bigint" ? `${part}n` : part));
    return ["null", "{}", "false"].includes(text) ? undefined : text;
  } catch {
    return undefined; // a circle
  }
}
