import type { Request } from "express";
import { LoginFailure } from "./login-failure.js";
import type { StateKeeper } from "./state-keeper.js";

/** What passport-oauth2 tells a state store about the strategy. */
export interface StateMeta {
  /** {auth_url} with `/connect` (4.1). */
  authorizationURL: string;
  /** With `{domain_prefix}` in it: each retailer has a token endpoint of their own. */
  tokenURL: string;
  /** The application's client id. */
  clientID: string;
  /** The callback URL of this login. */
  callbackURL: string | undefined;
}

/** A state store as passport-oauth2 defines it; `store` and `verify` are told apart by their declared length. */
export interface StateStore {
  /** `([req, appState, meta,] done)`: makes the state of a login that starts, and hands it to `done(error, state)`, or promises it. */
  // biome-ignore lint/suspicious/noExplicitAny: passport-oauth2 knows four signatures, told apart at run time
  store(...args: any[]): unknown;
  /** `(req, state, [meta,] done)`: whether the callback's state is one of these; `done(error, ok, info)`. */
  // biome-ignore lint/suspicious/noExplicitAny: the same
  verify(...args: any[]): unknown;
}

/** Lets an application's own state store keep the logins; what it returns is sent as it is. */
export function customState(
  store: StateStore,
  metaOf: (callbackURL: string | undefined) => StateMeta,
): StateKeeper {
  return {
    async issue(req, applicationState, callbackURL) {
      const [state] = await answerOf((done) => {
        const meta = metaOf(callbackURL);
        if (store.store.length === 5) return store.store(req, undefined, applicationState, meta, done);
        if (store.store.length === 4) return store.store(req, applicationState, meta, done);
        if (store.store.length === 3) return store.store(req, meta, done);
        return store.store(req, done);
      });
      return state as string; // its shape is checked where the authorization URL is made
    },
    async spend(req: Request, state, callbackURL) {
      const [ok, info] = await answerOf((done) =>
        store.verify.length === 4
          ? store.verify(req, state, metaOf(callbackURL), done)
          : store.verify(req, state, done),
      );
      if (!ok) throw new LoginFailure("state_unknown", reasonIn(info));
      return info;
    },
  };
}

/** Waits for the store's callback, or for what it promises; a store that throws or rejects is an error like one it reports. */
function answerOf(
  ask: (done: (error: unknown, ...answer: unknown[]) => void) => unknown,
): Promise<unknown[]> {
  return new Promise((resolve, reject) => {
    const result = ask((error, ...answer) => (error ? reject(error) : resolve(answer)));
    if (!isThenable(result)) return;
    Promise.resolve(result).then((answer) => {
      if (answer !== undefined) resolve([answer]);
    }, reject);
  });
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | null | undefined)?.then === "function";
}

function reasonIn(info: unknown): string {
  const message =
    typeof info === "string" ? info : (info as { message?: unknown } | null | undefined)?.message;
  return typeof message === "string" && message !== ""
    ? message
    : "The state store does not know this callback's state";
}
