import { EventEmitter } from "node:events";
import type { RetailPosLogin } from "@retail-pos/login";
import type { Request } from "express";
import { answerOfHook, isThenable } from "./hook-answer.js";

/** Ends a verify: with an error, with a user, or with a falsy user (and perhaps a reason) to refuse the login. */
export type VerifyDone = (error?: unknown, user?: Express.User | false | null, info?: object) => void;

/** The application's own user, or nothing. */
type User = Express.User | false | null | undefined;
/**
 * The return value of a verify that takes the login: a user lets them in, anything falsy refuses them. With `done`,
 * nothing.
 */
// biome-ignore lint/suspicious/noConfusingVoidType: a verify with `done` returns nothing
export type VerifyResult = User | void | Promise<User | void>;

/** Any of the declared signatures; its length says which one. */
// biome-ignore lint/suspicious/noExplicitAny: six signatures, told apart at run time
export type AnyVerify = (...args: any[]) => unknown;

/** How the function wants to be called. */
export type VerifyStyle = "login" | "tokens" | "tokens with params";

/**
 * Tells a verify's style by its declared length (not counting `req`, if it takes one).
 *
 * @throws {TypeError} no style has this length.
 */
export function styleOf(verify: unknown, passReqToCallback: boolean): VerifyStyle {
  if (typeof verify !== "function") throw new TypeError("verify must be a function");
  const length = verify.length - (passReqToCallback ? 1 : 0);
  if (length <= 2) return "login";
  if (length === 4) return "tokens";
  if (length === 5) return "tokens with params";
  const req = passReqToCallback ? "req, " : "";
  throw new TypeError(
    `verify declares ${verify.length} parameters; it must be (${req}login[, done]), ` +
      `(${req}accessToken, refreshToken, profile, done) or (${req}accessToken, refreshToken, params, profile, done)`,
  );
}

/** `(...args)` takes `done` and does not declare it. If it returns nothing, it may still call `done` for this long. */
const REST_ARGUMENTS_MS = 2000;

/**
 * Calls verify and waits for its first answer: through `done`, as a promise of the user, as a throw, or as the returned
 * user. Where passport-oauth2 has the form, only `done` and a rejection count; of `(login, done)`, a promised object,
 * and a plain one that is returned at once, are the user too. No login hangs.
 */
export async function askVerify(
  verify: AnyVerify,
  passReqToCallback: boolean,
  req: Request,
  login: RetailPosLogin,
): Promise<{ user: unknown; info: object | undefined }> {
  const style = styleOf(verify, passReqToCallback);
  const args = argumentsFor(style, login);
  if (passReqToCallback) args.unshift(req);
  const [user, info] = await answerOfHook({
    name: "verify",
    ask(done) {
      const result = verify(...args, done);
      return verify.length < args.length && result === undefined ? nothingLater() : result;
    },
    takesDone: verify.length > args.length,
    isAnswer: (value, isPromised) => style === "login" && isUser(value, isPromised),
  });
  return { user, info: info as object | undefined };
}

const nothingLater = () =>
  new Promise<void>((resolve) => void setTimeout(resolve, REST_ARGUMENTS_MS).unref());

function argumentsFor(style: VerifyStyle, login: RetailPosLogin): unknown[] {
  const { access, refreshToken } = login.tokens;
  if (style === "login") return [login];
  if (style === "tokens") return [access.value, refreshToken, login.profile];
  return [access.value, refreshToken, login.params, login.profile];
}

/** An arrow function may return a timer or a query in place of a user: both are instances of a class. */
function isUser(value: unknown, isPromised: boolean): boolean {
  if (typeof value !== "object" || value === null) return isPromised && (value === null || value === false);
  if (isPromised) return !(value instanceof EventEmitter || "hasRef" in value); // an ORM's user is one, too
  const prototype: unknown = Object.getPrototypeOf(value);
  return !isThenable(value) && (prototype === Object.prototype || prototype === null);
}
