import type { Request } from "express";
import { LIFETIME_MS, type PendingLogin } from "../../../login/src/parts.js";
import { hashOf } from "./hash.js";
import { putList, sessionIn } from "./session-slot.js";

/** A login under way, with who was logged in when it began: a hash; absent for nobody. */
export interface StartedLogin extends PendingLogin {
  readonly user?: string;
}

/**
 * Who is logged in, as Passport keeps it in the session, else as `req.user` says: a short hash. `undefined` for nobody.
 */
export function personIn(req: Request): string | undefined {
  const text = personInSession(req) ?? jsonOf(idOf((req as { user?: unknown }).user));
  return text === undefined ? undefined : hashOf(text).slice(0, 22);
}

/** Express and Koa keep `{ user }` there, Fastify the user itself. After a logout `{}` may be left. */
function personInSession(req: Request): string | undefined {
  return jsonOf(sessionIn(req)?.["passport"]);
}

/** Its other properties may change with each request. */
function idOf(user: unknown): unknown {
  const { id, _id, sub } = Object(user) as Readonly<Record<"id" | "_id" | "sub", unknown>>;
  return id ?? _id ?? sub ?? user;
}

function jsonOf(value: unknown): string | undefined {
  try {
    const text = JSON.stringify(value);
    return ["null", "{}", "false"].includes(text) ? undefined : text;
  } catch {
    return undefined; // a circle, a big integer
  }
}

/** A person of this session became another one by a login with store. "" is nobody. */
interface Change {
  readonly from: string;
  readonly to: string;
  /** Epoch milliseconds. */
  readonly at: number;
}

/** One slot for all strategies: whichever logs in, the person is another one for all of them. */
const SLOT = "retail-pos:person";
/** The oldest go first. */
const MOST_CHANGES = 5;

/**
 * Whether the person who began a login is the one who is logged in. Who has logged in with store meanwhile, in another
 * tab, still is.
 *
 * @param isExact whether only the very same person counts.
 */
export function isOfPerson(req: Request, { user = "", startedAt }: StartedLogin, isExact: boolean): boolean {
  const now = personIn(req) ?? "";
  const became = (who: string, { from, to, at }: Change) => (from === who && at >= startedAt ? to : who);
  return user === now || (!isExact && changesIn(req).reduce(became, user) === now);
}

/** @returns to be called once somebody is logged in: notes in the session of then who they were in that of now. */
export function changeOfPerson(req: Request, clock: () => number): () => void {
  const [from, changes] = [personIn(req) ?? "", changesIn(req)];
  return () => {
    if (personInSession(req) === undefined) return; // `session: false`
    const [to, at] = [personIn(req) ?? "", clock()];
    const own = from === to ? [] : [{ from, to, at }];
    const lately = changes.filter((one) => at - one.at < LIFETIME_MS);
    putList(req, SLOT, [...lately, ...own].slice(-MOST_CHANGES));
  };
}

function changesIn(req: Request): Change[] {
  const list = sessionIn(req)?.[SLOT];
  return Array.isArray(list) ? list.filter(isChange) : [];
}

function isChange(value: unknown): value is Change {
  const change = value as Partial<Change> | null;
  return typeof change?.from === "string" && typeof change.to === "string" && Number.isFinite(change.at);
}
