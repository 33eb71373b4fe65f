/**
 * Settles as the work does, unless the signal is aborted first; the work itself goes on. Once settled, it holds
 * neither the signal nor its reason, however long the work or the signal lasts (behaviour 13).
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

/** Whom work and signal speak to. Emptied when the caller has its answer, because both may outlast the call. */
interface Caller {
  promise: { resolve: (value: unknown) => void; reject: (reason: unknown) => void } | undefined;
  /** Takes the caller out of those who wait with its signal. */
  leave?: (() => void) | undefined;
}

/** A function of its own: what it leaves at the work sees the caller, and nothing that the caller handed over. */
function follow(work: Promise<unknown>, caller: Caller): void {
  work.then(
    (value) => emptied(caller)?.resolve(value),
    (reason) => emptied(caller)?.reject(reason),
  );
}

/** The caller's promise, to be settled now; nothing if that has happened. */
function emptied(caller: Caller): Caller["promise"] {
  const { promise, leave } = caller;
  caller.promise = undefined;
  caller.leave = undefined;
  leave?.();
  return promise;
}

/** The callers who wait with one signal, and the one listener that speaks for them. */
interface Waiting {
  readonly callers: Set<Caller>;
  readonly allLeave: () => void;
}

const waitingBySignal = new WeakMap<AbortSignal, Waiting>();

/**
 * One listener for all callers: many may share a signal that lives as long as the process, and Node warns of a
 * target with many. The listener goes with the last of them: as long as it stays, the platform keeps the signals
 * of `AbortSignal.any` and `AbortSignal.timeout` alive.
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
