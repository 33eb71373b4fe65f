/**
 * Settles as the work does, or rejects if the signal is aborted first; the work itself goes on. After that, neither the
 * work nor the signal refers to the caller, because both may live longer (behaviour 13).
 */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work;
  if (signal.aborted) {
    work.catch(() => {});
    return Promise.reject(signal.reason);
  }
  return new Promise((resolve, reject) => {
    const caller: Caller = { promise: { resolve: resolve as (value: unknown) => void, reject } };
    caller.leave = leaveWhenAborted(signal, caller);
    follow(work, caller);
  });
}

/** One waiting caller. It is emptied once it is answered, because the work and the signal may live longer. */
interface Caller {
  promise: { resolve: (value: unknown) => void; reject: (reason: unknown) => void } | undefined;
  /** Removes the caller from the list of its signal. */
  leave?: (() => void) | undefined;
}

/** A separate function, so that the work's callbacks capture the caller only, not its signal. */
function follow(work: Promise<unknown>, caller: Caller): void {
  work.then(
    (value) => takePromise(caller)?.resolve(value),
    (reason) => takePromise(caller)?.reject(reason),
  );
}

/** Takes the promise out of a caller, to settle it; `undefined` if it is settled already. */
function takePromise(caller: Caller): Caller["promise"] {
  const { promise, leave } = caller;
  caller.promise = undefined;
  caller.leave = undefined;
  leave?.();
  return promise;
}

/** The callers that wait with one signal, and the signal's one listener. */
interface Waiting {
  readonly callers: Set<Caller>;
  readonly allLeave: () => void;
}

const waitingBySignal = new WeakMap<AbortSignal, Waiting>();

/**
 * Adds one listener for all callers of a signal: many may share a signal that lives as long as the process, and Node
 * warns if a target has many listeners. The listener is removed with the last caller, because a listener keeps the
 * signals of `AbortSignal.any` and `AbortSignal.timeout` in memory.
 */
function leaveWhenAborted(signal: AbortSignal, caller: Caller): () => void {
  const waiting = waitingBySignal.get(signal) ?? listening(signal);
  waiting.callers.add(caller);
  return () => {
    waiting.callers.delete(caller);
    if (waiting.callers.size > 0) return;
    signal.removeEventListener("abort", waiting.allLeave);
    waitingBySignal.delete(signal);
  };
}

function listening(signal: AbortSignal): Waiting {
  const callers = new Set<Caller>();
  const allLeave = () => {
    for (const caller of callers) takePromise(caller)?.reject(signal.reason);
  };
  const waiting = { callers, allLeave };
  waitingBySignal.set(signal, waiting);
  signal.addEventListener("abort", allLeave);
  return waiting;
}

/** @throws {TypeError} the value is no signal, for example an `AbortController`. */
export function checkSignal(signal: unknown): void {
  if (signal === undefined) return;
  const { aborted, addEventListener } = Object(signal) as Partial<AbortSignal>;
  if (typeof aborted !== "boolean" || typeof addEventListener !== "function")
    throw new TypeError("signal must be an AbortSignal");
}
