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
 * The same for a call that keeps the promise of an async function to itself, as Passport's `fail` keeps that of a
 * custom callback. The first promise that an async function makes is its own; if nothing waits for it when the call
 * is over, nothing ever will.
 */
export function guardedInside(call: () => unknown, report: Report): () => void {
  return guarded(() => {
    let first: Promise<unknown> | undefined;
    let isAwaited = false;
    const stop = onEachPromise((promise, parent) => {
      first ??= promise;
      if (parent !== undefined && parent === first) isAwaited = true;
    });
    try {
      return call();
    } finally {
      stop();
      if (!isAwaited) first?.then(undefined, report);
    }
  }, report);
}

/** Other runtimes have no such hook. */
function onEachPromise(told: Parameters<typeof v8.promiseHooks.onInit>[0]): () => void {
  try {
    return v8.promiseHooks.onInit(told) as unknown as () => void;
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
