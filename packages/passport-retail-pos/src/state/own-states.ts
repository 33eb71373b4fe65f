import type { Request } from "express";
import {
  alreadyUsed,
  checkJson,
  isOpen,
  LoginFailure,
  newLogin,
  OF_ANOTHER_PERSON,
  type SpentStates,
  underWay,
} from "../../../login/src/parts.js";
import type { CallbackHere, StateKeeper } from "../state-keeper.js";
import type { FoundLogin, LoginJar } from "./login-jar.js";
import { changeOfPerson, isOfPerson, personIn, type StartedLogin } from "./person.js";

export interface OwnStatesOptions {
  /** Where the logins of the browser that sent a request are kept. */
  jarOf(req: Request): LoginJar;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly spent: SpentStates;
  /** The `redirect_uri` of every login that is not given another; only others are kept with the login. */
  readonly redirectUri: string;
}

/**
 * Keeps logins under way so that each counts once, only in the browser that began it, and only for the person who did;
 * nobody counts as one. Whoever logs in with store is still the person who they were when their other tabs began.
 */
export function ownStates({ jarOf, clock, spent, redirectUri }: OwnStatesOptions): StateKeeper {
  return {
    async issue(req, state, callbackURL) {
      checkJson("state", state);
      const user = personIn(req);
      const kept = callbackURL === redirectUri ? undefined : callbackURL;
      const login = {
        ...newLogin(clock(), { state, redirectUri: kept }),
        ...(user !== undefined && { user }),
      };
      await jarOf(req).add(req, login, /^\s*https:/i.test(callbackURL));
      return login.handle;
    },
    async isUnderWay(req, state) {
      try {
        const { login } = await jarOf(req).find(req, state);
        return login !== undefined && isOpen(login, spent, clock());
      } catch {
        return false; // no session, and no cookies either
      }
    },
    async check(req, state, here) {
      await checked(req, state, here);
    },
    async spend(req, state, here) {
      const { login, found } = await checked(req, state, here);
      if (!(await spent.spend(state))) throw alreadyUsed();
      const [putBack, noteChange] = [found.remove(), changeOfPerson(req, clock)];
      const loggedIn = () => {
        putBack();
        noteChange();
      };
      return { state: login.state, redirectUri: login.redirectUri ?? redirectUri, loggedIn };
    },
  };

  /** @throws {LoginFailure} why the callback may not finish a login. */
  async function checked(
    req: Request,
    state: string,
    { isConnecting }: CallbackHere,
  ): Promise<{ login: StartedLogin; found: FoundLogin }> {
    const found = await jarOf(req).find(req, state);
    const { login: kept, whyUnknown } = found;
    const login = underWay({ login: kept, isSpent: spent.has(state), now: clock(), whyUnknown });
    if (!isOfPerson(req, login, isConnecting)) throw new LoginFailure("state_unknown", OF_ANOTHER_PERSON);
    return { login, found };
  }
}
