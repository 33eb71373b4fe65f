/** How long a hook of the application may leave a login without an answer, milliseconds. */
export const LONGEST_ANSWER_MS = 30_000;

/** A hook, and how it answers: through `done`, as Passport has it, or by what it returns. */
export interface HookCall {
  /** For the error's message. */
  readonly name: string;
  /** Calls the hook, and returns what that returns. */
  readonly ask: (done: (error?: unknown, ...answer: unknown[]) => void) => unknown;
  /**
   * Whether the hook declares `done`. Then only `done` answers, as in passport-oauth2: what the hook returns may be a
   * query. A hook that declares no parameter, such as `(...args)`, may call `done` or promise its answer: `perhaps`.
   */
  readonly takesDone: boolean | "perhaps";
  /** Whether what a hook that declares `done` has returned, or promised, is its answer all the same. */
  readonly isAnswer?: (value: unknown, isPromised: boolean) => boolean;
}

/**
 * The first answer of a hook: what `done` was given after the error, or what the hook returned. No login hangs.
 *
 * @throws {Error} the hook's own, also as a rejection; or it did not answer within {@link LONGEST_ANSWER_MS}.
 */
export function answerOfHook({ name, ask, takesDone, isAnswer }: HookCall): Promise<unknown[]> {
  let deadline: NodeJS.Timeout | undefined;
  const answered = new Promise<unknown[]>((resolve, reject) => {
    const late = () => reject(new Error(`${name} did not answer within ${LONGEST_ANSWER_MS / 1000} seconds`));
    deadline = setTimeout(late, LONGEST_ANSWER_MS).unref();
    const result = ask((error, ...answer) => (error ? reject(error) : resolve(answer)));
    const isPromised = takesDone ? isPromise(result) : isThenable(result);
    const isReturned = takesDone === "perhaps" ? (value: unknown) => value !== undefined : isAnswer;
    const take = (value: unknown) => (!takesDone || isReturned?.(value, isPromised)) && resolve([value]);
    if (isPromised) Promise.resolve(result).then(take).catch(reject);
    else take(result);
  });
  return answered.finally(() => clearTimeout(deadline));
}

export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | null | undefined)?.then === "function";
}

/** A query of Mongoose's or Knex's is a thenable, and runs once more for whoever asks it for its result. */
export function isPromise(value: unknown): value is Promise<unknown> {
  return Object.prototype.toString.call(value) === "[object Promise]";
}
