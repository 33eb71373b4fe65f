import type { Request } from "express";
import {
  callbackStates,
  checkAppState,
  type FoundLogin,
  newLogin,
  type PendingLogin,
  type SpentStates,
} from "../../../login/src/parts.js";
import type { StateKeeper } from "../state-keeper.js";
import { checkPerson, personIn } from "./person.js";

/** Where a browser's logins under way are kept. */
export interface LoginJar {
  /** @returns whether there was room. */
  add(req: Request, login: PendingLogin, ask: { isSecure: boolean; mayEvict: boolean }): Promise<boolean>;
  find(req: Request, state: string): Promise<JarLogin>;
}

/** A login as it was found in a jar. */
export interface JarLogin extends FoundLogin {
  /**
   * Removes its cookie. A session is left as it is: it was read before the code is traded, and would be written after
   * that, over what other tabs and a log-out have written meanwhile. No state counts twice.
   *
   * @returns puts the logins of other tabs into the session that Passport has made, if they were in the former.
   */
  remove(): (() => void) | undefined;
}

export interface OwnStatesOptions {
  /** Where the logins of the browser that sent a request are kept. */
  jarOf(req: Request): LoginJar;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly spent: SpentStates;
  /** The strategy's own `redirect_uri`; only others are kept with the login. */
  readonly redirectUri: string;
}

/** Keeps logins under way so that each counts once, only in the browser that began it, and for the person who did. */
export function ownStates({ jarOf, clock, spent, redirectUri: usual }: OwnStatesOptions): StateKeeper {
  return {
    async issue(req, { appState, redirectUri, mayEvict }) {
      checkAppState(appState);
      const kept = redirectUri === usual ? undefined : redirectUri;
      const login = newLogin(clock(), { appState, redirectUri: kept, user: await personIn(req) });
      const isSecure = /^\s*https:/i.test(redirectUri);
      return (await jarOf(req).add(req, login, { isSecure, mayEvict })) ? login : undefined;
    },
    of(req, { isConnecting }) {
      const find = (state: string) => jarOf(req).find(req, state);
      const accept = (login: PendingLogin) => checkPerson(req, login.user, isConnecting);
      const { spend, ...states } = callbackStates({ find, spent, clock, accept });
      return {
        ...states,
        async spend(state) {
          const { login, remove } = await spend(state);
          const loggedIn = remove();
          const { appState, redirectUri = usual } = login;
          return { appState, redirectUri, ...(loggedIn && { loggedIn }) };
        },
      };
    },
  };
}
