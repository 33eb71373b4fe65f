import { isPromise } from "./hook-answer.js";

/**
 * Has `then` called when this request's `logIn` has logged somebody in: with a callback, as Passport has it, or for a
 * promise (@fastify/passport, and koa-passport on its context).
 */
export function afterLogIn(req: object, then: () => void): void {
  for (const target of [req, (req as { ctx?: object }).ctx])
    for (const name of ["logIn", "login"]) wrap(target as Record<string, unknown> | undefined, name, then);
}

function wrap(target: Record<string, unknown> | undefined, name: string, then: () => void): void {
  const original = target?.[name];
  if (!target || typeof original !== "function") return;
  const value = function (this: unknown, ...args: unknown[]): unknown {
    const at = args.findLastIndex((one) => typeof one === "function");
    const done = args[at] as ((error?: unknown) => unknown) | undefined;
    const told = (error?: unknown) => {
      if (!error) then();
      return done?.(error);
    };
    const result: unknown = original.apply(this, done ? args.with(at, told) : args);
    return isPromise(result) && !done ? result.then(() => told()) : result;
  };
  Object.defineProperty(target, name, { value, configurable: true, writable: true, enumerable: true });
}
