import type { PendingLogin } from "../../../login/src/parts.js";
import type { Session } from "./sessions.js";

/** The logins that move along when a session gets a new id. */
export interface Luggage {
  /** As this request knows them, for a `regenerate` whose caller may not wait. */
  known(): PendingLogin[];
  /** As the session store has them now. */
  stored(): Promise<PendingLogin[]>;
  /** Leaves these, and no others, in the session that the request has then. */
  put(pending: readonly PendingLogin[]): void;
  /** Takes the error of a caller that throws again when it is told of its first. */
  failed(error: unknown): void;
}

/** A session that gets no new id within this time is an error, not a request that hangs. */
const LONGEST_MS = 10_000;

/**
 * A login gives the session a new id and empties it, against session fixation; the logins of the other tabs move
 * along. Each framework calls `regenerate` in a way of its own: Passport with a callback, @fastify/passport with a
 * list of keys, for a promise or for nothing at all. It is passed on as it was called.
 */
export function carryAcrossRegenerate(session: Session, luggage: Luggage): void {
  const { regenerate } = session;
  if (typeof regenerate !== "function") return;
  const pass = (args: unknown[]) => regenerate.apply(session, args);
  const value = (...args: unknown[]): unknown => {
    const at = args.findLastIndex((argument) => typeof argument === "function");
    return at === -1 ? withoutCallback(pass, args, luggage) : withCallback(pass, args, at, luggage);
  };
  // Not enumerable: session stores write every enumerable property, and this is no data.
  Object.defineProperty(session, "regenerate", { value, configurable: true, writable: true });
}

function withoutCallback(pass: (args: unknown[]) => unknown, args: unknown[], luggage: Luggage): unknown {
  const pending = luggage.known();
  luggage.put(pending); // if the framework copies every key, logins that do not move along are not copied either
  const result = pass(args);
  if (!isThenable(result)) return void luggage.put(pending);
  return inTime(Promise.resolve(result)).then(() => luggage.put(pending));
}

function withCallback(
  pass: (args: unknown[]) => unknown,
  args: unknown[],
  at: number,
  luggage: Luggage,
): Promise<void> {
  const done = args[at] as (error?: unknown) => void;
  const regenerated = async () => {
    const pending = await luggage.stored();
    luggage.put(pending);
    await new Promise<void>((resolve, reject) => {
      const answered = (error?: unknown) => (error ? reject(error) : resolve());
      const result = pass(args.with(at, answered));
      if (isThenable(result)) Promise.resolve(result).then(() => resolve(), reject);
    });
    luggage.put(pending);
  };
  // Passport goes on in `done`, and what it throws there is an error of the login.
  return inTime(regenerated())
    .then(() => done())
    .catch(done)
    .catch(luggage.failed);
}

function inTime<T>(work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = () =>
      reject(
        new Error(`The session was not regenerated within ${LONGEST_MS / 1000} seconds; nobody is logged in`),
      );
    const timer = setTimeout(late, LONGEST_MS).unref();
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | null | undefined)?.then === "function";
}
