import v8 from "node:v8";
import { isPromise } from "./hook-answer.js";

/** Takes what the application threw, or rejected with. */
export type Report = (error: unknown) => void;

/** A function of the application's that throws nothing: its error is reported, also one that comes later. */
export function guarded<Args extends unknown[]>(
  call: (...args: Args) => unknown,
  report: Report,
): (...args: Args) => void {
  return (...args) => {
    try {
      const result = call(...args);
      if (isPromise(result)) result.then(undefined, report);
    } catch (error) {
      report(error);
    }
  };
}

/**
 * The same for a call that keeps the promise of a function to itself, as Passport's `fail` keeps that of a custom
 * callback. Of the promises that are made meanwhile, each that nothing waits for when the call is over is guarded.
 */
export function guardedInside(call: () => unknown, report: Report): () => void {
  let isReported = false;
  /** An async function that returns a promise rejects with it, so that one error comes twice. */
  const once: Report = (error) => {
    if (!isReported) report(error);
    isReported = true;
  };
  return guarded(() => {
    /** Each promise, with the one that it waits for. */
    const made = new Map<Promise<unknown>, Promise<unknown> | undefined>();
    /** An `await` of a value makes a promise that is settled at once, and that waits for nothing. */
    const settled = new Set<Promise<unknown>>();
    const stop = onEachPromise(
      (promise, parent) => made.set(promise, parent),
      (promise) => settled.add(promise),
    );
    try {
      return call();
    } finally {
      stop();
      const pending = [...made].filter(([promise]) => !settled.has(promise));
      const awaited = new Set(pending.map(([, parent]) => parent));
      for (const promise of made.keys()) if (!awaited.has(promise)) promise.then(undefined, once);
    }
  }, once);
}

/** Other runtimes have no such hook. */
function onEachPromise(
  init: (promise: Promise<unknown>, parent: Promise<unknown> | undefined) => void,
  settled: (promise: Promise<unknown>) => void,
): () => void {
  try {
    return v8.promiseHooks.createHook({ init, settled }) as unknown as () => void;
  } catch {
    return () => {};
  }
}

/**
 * Guards the callback of this request's `logIn`: Passport calls it out of the session store's own callback, where a
 * throw ends the process.
 */
export function guardLogIn(req: object, report: Report): void {
  for (const name of ["logIn", "login"] as const) {
    const { [name]: original } = req as { [Name in typeof name]?: unknown };
    if (typeof original !== "function") continue;
    const value = function (this: unknown, ...args: unknown[]): unknown {
      const own = args.map((one) =>
        typeof one === "function" ? guarded(one as () => unknown, report) : one,
      );
      return original.apply(this, own);
    };
    Object.defineProperty(req, name, { value, configurable: true, writable: true, enumerable: true });
  }
}
