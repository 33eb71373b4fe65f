/**
 * Settles as the work does, unless the signal is aborted first; the work itself goes on. Once settled, it refers to
 * neither the signal nor its reason, which may both last longer (behaviour 13).
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

/** One waiting caller. Emptied once it has its answer, because the work and the signal may outlast the call. */
interface Caller {
  promise: { resolve: (value: unknown) => void; reject: (reason: unknown) => void } | undefined;
  /** Removes the caller from those that wait with its signal. */
  leave?: (() => void) | undefined;
}

/** A function of its own, so that the callbacks on the work capture the caller only, and not its signal. */
function follow(work: Promise<unknown>, caller: Caller): void {
  work.then(
    (value) => emptied(caller)?.resolve(value),
    (reason) => emptied(caller)?.reject(reason),
  );
}

/** The caller's promise, to be settled now; `undefined` if it is settled already. */
function emptied(caller: Caller): Caller["promise"] {
  const { promise, leave } = caller;
  caller.promise = undefined;
  caller.leave = undefined;
  leave?.();
  return promise;
}

/** The callers that wait with one signal, and the one listener for them all. */
interface Waiting {
  readonly callers: Set<Caller>;
  readonly allLeave: () => void;
}

const waitingBySignal = new WeakMap<AbortSignal, Waiting>();

/**
 * One listener for all callers: many may share a signal that lives as long as the process, and Node warns about a
 * target with many listeners. It is removed with the last caller: a listener keeps the signals of `AbortSignal.any`
 * and `AbortSignal.timeout` in memory.
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
    for (const caller of callers) emptied(caller)?.reject(signal.reason);
  };
  const waiting = { callers, allLeave };
  waitingBySignal.set(signal, waiting);
  signal.addEventListener("abort", allLeave);
  return waiting;
}

/** @throws {TypeError} something was given that is no signal, such as its controller. */
export function checkSignal(signal: unknown): void {
  if (signal === undefined) return;
  const { aborted, addEventListener } = Object(signal) as Partial<AbortSignal>;
  if (typeof aborted !== "boolean" || typeof addEventListener !== "function")
    throw new TypeError("signal must be an AbortSignal");
}
