import { BoundedMap } from "@retail-pos/core/authoring";
import type { Request } from "express";
import { alreadyUsed, LoginFailure, type SpentStates } from "../../../login/src/parts.js";
import { answerOfHook } from "../hooks/hook-answer.js";
import type { StateMeta, StateStore } from "../hooks/state-store.js";
import type { CallbackRoute, StateKeeper } from "../state-keeper.js";
import { checkPerson, personIn } from "./person.js";

/** Per process; the oldest go first. */
const MOST_ISSUED = 5_000;

/**
 * Lets an application's own state store keep the logins; what it returns is sent as it is. The store has no place for
 * the `redirect_uri` and the person: this process remembers them. For a login that another one started, the former is
 * read from the request, and the person is not compared.
 */
export function customState(
  store: StateStore,
  metaOf: (callbackURL: string) => StateMeta,
  spent: SpentStates,
): StateKeeper {
  /** By the state: the `redirect_uri`, and who was logged in. */
  const issued = new BoundedMap<string, { redirectUri: string; user: string | undefined }>(MOST_ISSUED);
  const isIssued = (state: string) => issued.has(state) && !spent.has(state);

  return {
    async issue(req, { appState, redirectUri }) {
      const meta = metaOf(redirectUri);
      const given =
        { 5: [undefined, appState, meta], 4: [appState, meta], 3: [meta] }[store.store.length] ?? [];
      const [state] = await answerOfHook({
        name: "The state store's store",
        ask: (done) => store.store(req, ...given, done),
        takesDone: store.store.length === 0 ? "perhaps" : store.store.length > 1,
      });
      if (typeof state === "string") issued.set(state, { redirectUri, user: await personIn(req) });
      return { state: state as string }; // its shape is checked where the authorization URL is made
    },
    of: (req, route) => ({
      isKnown: () => false, // this process may know it, but not from which browser it is
      // A store can only be asked once.
      check: async (state) => void (isIssued(state) || (await verify(req, state, route))),
      async spend(state) {
        const login = issued.get(state);
        if (login) await checkPerson(req, login.user, route.isConnecting);
        const finished = await verify(req, state, route);
        if (!(await spent.spend(state))) throw alreadyUsed();
        issued.delete(state);
        return finished;
      },
    }),
  };

  /** @throws {LoginFailure} the store does not know the state. */
  async function verify(req: Request, state: string, route: CallbackRoute) {
    const redirectUri = issued.get(state)?.redirectUri ?? route.redirectUri();
    const given = store.verify.length === 4 ? [metaOf(redirectUri)] : [];
    const [ok, appState] = await answerOfHook({
      name: "The state store's verify",
      ask: (done) => store.verify(req, state, ...given, done),
      takesDone: ![1, 2].includes(store.verify.length),
    });
    if (!ok) throw new LoginFailure("state_unknown", reasonIn(appState));
    return { appState, redirectUri };
  }
}

function reasonIn(info: unknown): string {
  const message: unknown = typeof info === "string" ? info : Object(info).message;
  return typeof message === "string" && message
    ? message
    : "The state store does not know this callback's state";
}
