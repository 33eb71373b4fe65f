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
 * Wraps this request's `logIn`: with a callback, as Passport has it, or for a promise (@fastify/passport, and
 * koa-passport on its context). Passport calls the callback out of the session store's own, where a throw ends the
 * process: it is reported instead.
 *
 * @param after called when the person is logged in, before the application goes on.
 */
export function wrapLogIn(req: object, report: Report, after: () => void): void {
  for (const target of [req, (req as { ctx?: object }).ctx])
    for (const name of ["logIn", "login"]) wrap(target as Record<string, unknown> | undefined, name);

  function wrap(target: Record<string, unknown> | undefined, name: string): void {
    const original = target?.[name];
    if (!target || typeof original !== "function") return;
    const value = function (this: unknown, ...args: unknown[]): unknown {
      const at = args.findLastIndex((one) => typeof one === "function");
      if (at === -1) return Promise.resolve(original.apply(this, args)).then(after);
      const done = guarded(args[at] as (error?: unknown) => unknown, report);
      const told = (error?: unknown) => {
        if (!error) after();
        done(error);
      };
      return original.apply(this, args.with(at, told));
    };
    Object.defineProperty(target, name, { value, configurable: true, writable: true, enumerable: true });
  }
}
