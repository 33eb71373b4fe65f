import type { Request } from "express";
import { hashOf, isJson, LoginFailure, OF_ANOTHER_PERSON } from "../../../login/src/parts.js";

/** A session of express-session, koa-session, @fastify/session or @fastify/secure-session. */
export type Session = Record<string, unknown> & { save?: (done: (error?: unknown) => void) => unknown };

/** The session of a request; `undefined` without session middleware. */
export function sessionIn(req: Request): Session | undefined {
  const { session } = req as unknown as { session?: Session | null };
  return typeof session === "object" && session !== null ? session : undefined;
}

/** As much as Passport on Express, on Koa and on Fastify tells of where it keeps people. */
interface Keeper {
  readonly _userProperty?: string;
  readonly ctx?: { readonly state?: object; readonly req?: object; readonly request?: object };
  readonly passport?: { readonly userProperty?: string; readonly sessionManager?: { readonly key: string } };
}

/** A short hash of who is logged in; `undefined` for nobody. */
type PersonHash = string | undefined;

/** Who is logged in, as Passport keeps it in the session, else as `req.user` says. */
export async function personIn(req: Request): Promise<PersonHash> {
  const { _userProperty, passport, ctx } = req as Keeper;
  const properties = [_userProperty ?? passport?.userProperty ?? "user", "user"]; // Passport's, the application's own
  const places = [req, ctx?.state, ctx?.req, ctx?.request] as (Record<string, unknown> | undefined)[];
  const users = properties.flatMap((name) => places.map((place) => place?.[name]));
  const user = users.find((one) => one && !isGuest(Object(one)));
  const name = personInSession(req) ?? (user === undefined ? undefined : nameOf(() => user));
  return name === undefined ? undefined : (await hashOf(name)).slice(0, 22);
}

/** Some applications give a guest an empty object. */
const isGuest = (user: object) => Reflect.ownKeys(user).length === 0 && isJson(user);

/** Express and Koa keep `{ user }` there, Fastify the user itself. */
export function personInSession(req: Request): string | undefined {
  const { sessionManager } = (req as Keeper).passport ?? {};
  const kept = sessionIn(req)?.[sessionManager?.key ?? "passport"];
  const user: unknown = sessionManager ? kept : Object(kept).user;
  // As it will come out of the session's store.
  return (user ?? false) === false ? undefined : nameOf(() => JSON.parse(JSON.stringify(user)));
}

/**
 * A login belongs to the person who was logged in when it began. If nobody was, a login may be finished for anybody,
 * because it logs in anyway, but it connects no store to the account of somebody who has logged in since.
 *
 * @param isConnecting whether the login connects a store to the person who is logged in (Passport's `authorize`).
 * @throws {LoginFailure} `state_unknown`.
 */
export async function checkPerson(req: Request, user: PersonHash, isConnecting: boolean): Promise<void> {
  if (user === undefined && !isConnecting) return;
  if (user !== (await personIn(req))) throw new LoginFailure("state_unknown", OF_ANOTHER_PERSON);
}

/** What names a user; its other properties may change with each request. */
const NAMES = "id _id sub uid uuid oid userId user_id accountId account_id username login email".split(" ");
/** What tells apart two users with the same name: of two tables, of two providers. */
const KINDS = "iss provider type kind role realm tenant tenantId tenant_id userType userGroup".split(" ");

/** Who cannot be named for sure counts as somebody else each time. */
function nameOf(userOf: () => unknown): string {
  try {
    const user = userOf();
    const name = NAMES.find((key) => textOf(user, key) !== undefined);
    const kinds = KINDS.map((key) => (lazy(user, key) ? 0 : (textOf(user, key, "id") ?? textOf(user, key))));
    const named = name && JSON.stringify([...kinds, name, textOf(user, name)]);
    const text = named ?? (user === true ? "true" : exactly(user)); // `true` is the one operator
    if (text !== undefined) return text;
  } catch {} // a getter that throws, a circle
  return crypto.randomUUID();
}

/** A property that an ORM loads when it is read: reading it sends a query, and puts the rows into the user. */
const lazy = (user: unknown, key: string) => Object.getOwnPropertyDescriptor(Object(user), key)?.get;

/** A getter that throws, such as one of a relation that was not loaded, names nobody. */
function textOf(user: unknown, ...path: string[]): string | undefined {
  try {
    return exactly(path.reduce((part, key) => Object(part)[key], user));
  } catch {
    return undefined;
  }
}

const NO_NAME = /^("\s*"|\{\}|\[(null)?\]|true|false|null)?$/;

/** A text that no other value has; `undefined` if there is none, or if it would name nobody. */
function exactly(value: unknown): string | undefined {
  if (typeof value === "bigint") return `${value}n`;
  if (ArrayBuffer.isView(value))
    return `bytes ${new Uint8Array(value.buffer, value.byteOffset, value.byteLength)}`;
  // An id of a database's own class, such as MongoDB's, says the same to everybody who asks.
  const shown: unknown = isData(value) ? value : Object(value).toJSON?.();
  const text = isData(value) || shown === String(value) ? JSON.stringify(shown) : "";
  return NO_NAME.test(text ?? "") ? undefined : text;
}

/** Whether JSON shows all that a value has. */
function isData(part: unknown): boolean {
  if (part instanceof Date) return true;
  if (typeof part !== "object" || part === null || !isJson(part)) return isJson(part);
  const hidden = Array.isArray(part) ? 0 : Reflect.ownKeys(part).length - Object.keys(part).length;
  return hidden === 0 && Object.values(part).every(isData);
}
