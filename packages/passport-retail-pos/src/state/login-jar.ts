import type { Request } from "express";
import type { StartedLogin } from "./person.js";

/** Where a browser's logins under way are kept. */
export interface LoginJar {
  /** @param isSecure whether the browser comes back over https. */
  add(req: Request, login: StartedLogin, isSecure: boolean): Promise<void>;
  find(req: Request, state: string): Promise<FoundLogin>;
}

/** The login that a callback's state belongs to. */
export interface FoundLogin {
  /** `undefined` if there is none. */
  readonly login: StartedLogin | undefined;
  /** The message if there is none: the likely causes. */
  whyUnknown(): string;
  /**
   * Removes it from where it is kept.
   *
   * @returns puts the logins of other tabs back, if a new session has lost them.
   */
  remove(): () => void;
}
