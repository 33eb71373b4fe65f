import type { Request } from "express";
import { alreadyUsed, hashOf, LoginFailure, type SpentStates } from "../../../login/src/parts.js";
import { answerOfHook, type HookCall } from "../hooks/hook-answer.js";
import type { StateMeta, StateStore } from "../hooks/state-store.js";
import type { CallbackRoute, StateKeeper } from "../state-keeper.js";

/** Per process; the oldest go first. */
const MOST_ISSUED = 5_000;

/**
 * Lets an application's own state store keep the logins; what it returns is sent as it is. The store has no place for
 * the `redirect_uri`: this process remembers it, and for a login that another one started it is read from the request.
 */
export function customState(
  store: StateStore,
  metaOf: (callbackURL: string) => StateMeta,
  spent: SpentStates,
): StateKeeper {
  /** The `redirect_uri` of each state, which is kept as its hash. */
  const issued = new Map<string, string>();
  const isKnown = async (state: string) => issued.has(await hashOf(state)) && !spent.has(state);

  return {
    async issue(req, { appState, redirectUri }) {
      const [state] = await answerOf("store", store.store, 2, (done) => {
        const meta = metaOf(redirectUri);
        if (store.store.length === 5) return store.store(req, undefined, appState, meta, done);
        if (store.store.length === 4) return store.store(req, appState, meta, done);
        if (store.store.length === 3) return store.store(req, meta, done);
        return store.store(req, done);
      });
      if (typeof state === "string") remember(await hashOf(state), redirectUri);
      return { state: state as string }; // its shape is checked where the authorization URL is made
    },
    of: (req, route) => ({
      isKnown,
      async check(state) {
        if (!(await isKnown(state))) await verify(req, state, route); // a store can only be asked once
      },
      async spend(state) {
        const finished = await verify(req, state, route);
        if (!(await spent.spend(state))) throw alreadyUsed();
        issued.delete(await hashOf(state));
        return finished;
      },
    }),
  };

  /** @throws {LoginFailure} the store does not know the state. */
  async function verify(req: Request, state: string, route: CallbackRoute) {
    const redirectUri = issued.get(await hashOf(state)) ?? route.redirectUri();
    const [ok, appState] = await answerOf("verify", store.verify, 3, (done) =>
      store.verify.length === 4
        ? store.verify(req, state, metaOf(redirectUri), done)
        : store.verify(req, state, done),
    );
    if (!ok) throw new LoginFailure("state_unknown", reasonIn(appState));
    return { appState, redirectUri };
  }

  function remember(hash: string, redirectUri: string): void {
    const [oldest] = issued.keys();
    if (issued.size >= MOST_ISSUED && oldest !== undefined) issued.delete(oldest);
    issued.set(hash, redirectUri);
  }
}

/**
 * Waits for the store's callback or promise.
 *
 * @param least the number of parameters with which a function declares `done`; `(...args)` has none, and may call back.
 */
function answerOf(
  name: string,
  { length }: { length: number },
  least: number,
  ask: HookCall["ask"],
): Promise<unknown[]> {
  const takesDone = length === 0 || length >= least;
  return answerOfHook({ name: `The state store's ${name}`, ask, takesDone });
}

function reasonIn(info: unknown): string {
  const message =
    typeof info === "string" ? info : (info as { message?: unknown } | null | undefined)?.message;
  return typeof message === "string" && message !== ""
    ? message
    : "The state store does not know this callback's state";
}
