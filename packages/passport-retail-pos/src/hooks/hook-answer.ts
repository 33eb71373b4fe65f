import { EventEmitter } from "node:events";

/** How long a hook of the application may leave a login without an answer, milliseconds. */
export const LONGEST_ANSWER_MS = 30_000;

/** A hook, and how it answers: through `done`, as Passport has it, or by what it returns. */
export interface HookCall {
  /** For the error's message. */
  readonly name: string;
  /** Calls the hook, and returns what that returns. */
  readonly ask: (done: (error?: unknown, ...answer: unknown[]) => void) => unknown;
  /** Whether the hook may call `done`. If it cannot, a promise of nothing is its answer too. */
  readonly takesDone: boolean;
  /** Whether what a hook that takes `done` has returned is its answer, or promises it; default: a thenable does. */
  readonly isAnswer?: (result: unknown) => boolean;
}

/**
 * The first answer of a hook: what `done` was given after the error, or what the hook returned. No login hangs.
 *
 * @throws {Error} the hook's own; or it did not answer within {@link LONGEST_ANSWER_MS}.
 */
export function answerOfHook({ name, ask, takesDone, isAnswer = isThenable }: HookCall): Promise<unknown[]> {
  let deadline: NodeJS.Timeout | undefined;
  const answered = new Promise<unknown[]>((resolve, reject) => {
    const late = () => reject(new Error(`${name} did not answer within ${LONGEST_ANSWER_MS / 1000} seconds`));
    deadline = setTimeout(late, LONGEST_ANSWER_MS).unref();
    const result = ask((error, ...answer) => (error ? reject(error) : resolve(answer)));
    if (takesDone && !isAnswer(result)) return;
    Promise.resolve(result).then((answer) => {
      if (!takesDone || (answer !== undefined && !isUnderWay(answer))) resolve([answer]);
    }, reject);
  });
  return answered.finally(() => clearTimeout(deadline));
}

/** A query or a timer, which an async function has returned: its callback calls `done`. */
const isUnderWay = (value: unknown) => value instanceof EventEmitter || "hasRef" in Object(value);

export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | null | undefined)?.then === "function";
}

/** A query of Mongoose's or Knex's is a thenable, and runs once more for whoever asks it for its result. */
export function isPromise(value: unknown): value is Promise<unknown> {
  return Object.prototype.toString.call(value) === "[object Promise]";
}
