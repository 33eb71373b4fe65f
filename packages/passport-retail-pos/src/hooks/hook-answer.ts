/** How long a hook of the application may leave a login without an answer, milliseconds. */
export const LONGEST_ANSWER_MS = 30_000;

/** What a hook may answer through: `done` as Passport has it, or the promise that it returns. */
export interface HookCall<T> {
  /** For the error's message. */
  readonly name: string;
  /** Calls the hook, and returns what that returns. */
  readonly ask: (done: (error?: unknown, ...answer: unknown[]) => void) => unknown;
  /** Reads what `done` was given after the error. */
  readonly read: (...answer: unknown[]) => T;
  /** Whether the hook may call `done`. If it cannot, a promise of nothing is its answer too. */
  readonly takesDone: boolean;
}

/**
 * The first answer of a hook: through `done`, as a promise, as a throw. No login hangs.
 *
 * @throws {Error} the hook's own; or it did not answer within {@link LONGEST_ANSWER_MS}.
 */
export function answerOfHook<T>({ name, ask, read, takesDone }: HookCall<T>): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const fail = (error: unknown) => {
      clearTimeout(deadline);
      reject(error);
    };
    const succeed = (...answer: unknown[]) => {
      clearTimeout(deadline);
      resolve(read(...answer));
    };
    const late = () => fail(new Error(`${name} did not answer within ${LONGEST_ANSWER_MS / 1000} seconds`));
    const deadline = setTimeout(late, LONGEST_ANSWER_MS).unref();
    try {
      const result = ask((error, ...answer) => (error ? fail(error) : succeed(...answer)));
      if (!isThenable(result)) return;
      Promise.resolve(result).then((answer) => {
        if (answer !== undefined) succeed(answer);
        else if (!takesDone) succeed();
      }, fail);
    } catch (error) {
      fail(error);
    }
  });
}

export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | null | undefined)?.then === "function";
}

/** A query of Mongoose's or Knex's is a thenable, and runs once more for whoever asks it for its result. */
export function isPromise(value: unknown): value is Promise<unknown> {
  return Object.prototype.toString.call(value) === "[object Promise]";
}
