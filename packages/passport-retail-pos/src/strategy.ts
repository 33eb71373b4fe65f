import type { RetailPos } from "@retail-pos/core";
import type { RetailPosLogin, RetailPosProfile, TokenParams } from "@retail-pos/login";
import type { Request } from "express";
import type {
  AuthenticateCallback as PassportCallback,
  AuthenticateOptions as PassportOptions,
  Strategy as PassportStrategy,
} from "passport";
import OAuth2Strategy from "passport-oauth2";
import { type Application, spentStates } from "../../login/src/parts.js";
import { handleLogin, type LoginView, type OwnStrategy, type SharedByLogins } from "./handle-request.js";
import { answerOfHook } from "./hooks/hook-answer.js";
import { isSkipped } from "./hooks/skip-profile.js";
import { type AnyVerify, styleOf, type VerifyDone, type VerifyResult } from "./hooks/verify.js";
import type { LoginOptions, RetailPosStrategyOptions } from "./options.js";
import { Routes } from "./request/request-query.js";
import { responseOf } from "./request/response.js";
import { checkOptions, type StrategySettings } from "./settings.js";
import { cookieJar } from "./state/cookie-jar.js";
import { customState } from "./state/custom-state.js";
import { ownStates } from "./state/own-states.js";
import { sessionJar } from "./state/session-jar.js";
import type { StateKeeper } from "./state-keeper.js";

/** Options of a strategy whose verify gets the request first. */
type WithRequest = RetailPosStrategyOptions & {
  /** Verify gets the request first. */
  passReqToCallback: true;
};
/** Options of a strategy whose verify does not get the request. */
type WithoutRequest = RetailPosStrategyOptions & {
  /** Verify does not get the request. */
  passReqToCallback?: false | undefined;
};

/** A verify that takes the login in one. */
type LoginVerify<First extends unknown[]> = (
  ...args: [...First, login: RetailPosLogin, done: VerifyDone]
) => VerifyResult;
/** passport-oauth2's own two. */
type TokensVerify<First extends unknown[]> =
  | ((...args: [...First, ...Tokens, profile: RetailPosProfile, done: VerifyDone]) => VerifyResult)
  | ((
      ...args: [...First, ...Tokens, params: TokenParams, profile: RetailPosProfile, done: VerifyDone]
    ) => VerifyResult);
/** What passport-oauth2 gives its `verify` first. */
type Tokens = [accessToken: string, refreshToken: string];

declare global {
  namespace Express {
    interface AuthInfo {
      /** What `authenticate("retail-pos", { state })` was given when the login started. */
      state?: unknown;
    }
  }
}

/** What `authenticate` and `authorize` take: a strategy by its name or itself, or a list of them. */
type StrategyOrList = string | PassportStrategy | (string | PassportStrategy)[];

declare module "passport" {
  interface Authenticator<InitializeRet, AuthenticateRet, AuthorizeRet, AuthorizeOptions> {
    /** {@link LoginOptions}: `state` of any shape, and the callback URL of this login. */
    authenticate(
      strategy: StrategyOrList,
      options: Omit<PassportOptions, "state"> & LoginOptions,
      callback?: PassportCallback,
    ): AuthenticateRet;
    /** The same options, to connect a store to the person who is logged in. */
    authorize(
      strategy: StrategyOrList,
      options: Omit<PassportOptions, "state"> & LoginOptions,
      callback?: PassportCallback,
    ): AuthorizeRet;
  }
}

/**
 * Log in with store. Checks state and domain prefix before a secret goes anywhere, trades the code at
 * the token endpoint of the retailer who logged in, and keeps the tokens in {@link client} once verify
 * has accepted.
 *
 * passport-oauth2's hooks (`authorizationParams`, `tokenParams`, `userProfile`, `parseErrorResponse`) can
 * be overridden by a further subclass.
 */
export class RetailPosStrategy extends OAuth2Strategy {
  /** The client that keeps the tokens: the one given, or the one made from the options. */
  readonly client: RetailPos;
  /** Of one login's copy. */
  private byDefault: RetailPosProfile | undefined;
  /** In a function, because a strategy can be printed, and some of the settings are secrets. */
  private readonly shared: () => SharedByLogins;

  /**
   * @param verify `(login)` returning a user, maybe as a promise, or `(login, done)`; passport-oauth2's
   * `(accessToken, refreshToken, profile, done)` and `(accessToken, refreshToken, params, profile, done)`
   * work as well. With `passReqToCallback` the request comes first. They are told apart by declared length.
   * @throws {TypeError} naming the option that is wrong.
   */
  constructor(options: WithoutRequest, verify: LoginVerify<[]>);
  constructor(options: WithoutRequest, verify: TokensVerify<[]>);
  constructor(options: WithRequest, verify: LoginVerify<[req: Request]>);
  constructor(options: WithRequest, verify: TokensVerify<[req: Request]>);
  constructor(options: RetailPosStrategyOptions, verify: AnyVerify) {
    const settings = checkOptions(options);
    styleOf(verify, settings.passReqToCallback);
    const { client, application, callbackURL, sessionKey } = settings;
    super(
      {
        authorizationURL: application.authorizationUrl,
        tokenURL: tokenUrlOf(application),
        clientID: application.clientId,
        // The base class would keep the secret in a property that anybody can print. Only the client has it.
        clientSecret: "",
        callbackURL,
        sessionKey,
        scope: options.scope,
      },
      verify,
    );
    this.name = "retail-pos";
    this.client = client;
    const shared = { ...settings, verify, states: keeperOf(settings), routes: new Routes() };
    this.shared = () => shared;
    this._oauth2.useAuthorizationHeaderforGET(true); // a hook's own calls must not carry the bearer in a URL
  }

  /** Starts a login, or finishes one if the request is the service's callback. */
  override authenticate(req: Request, options: LoginOptions = {}): void {
    // A copy: authenticate(instance) writes every request's actions, and a subclass its fields, onto one object.
    const own: this = Object.create(Object.getPrototypeOf(this), Object.getOwnPropertyDescriptors(this));
    const view: LoginView = {
      ...this.shared(),
      own: own as unknown as OwnStrategy,
      parseErrorResponse: own.ownErrorParser(),
      profileOf: (accessToken, byDefault) => own.loadProfile(accessToken, byDefault),
    };
    void handleLogin(view, req, options ?? {});
  }

  /** The profile of one login; a subclass may fetch a richer one, and gets the default one from `super.userProfile`. */
  override userProfile(_accessToken: string, done: (error?: unknown, profile?: unknown) => void): void {
    done(null, this.byDefault);
  }

  /**
   * A subclass's parser. The base class's is not called: core's errors say more. If it throws, core's error counts.
   */
  private ownErrorParser(): LoginView["parseErrorResponse"] {
    if (this.parseErrorResponse === OAuth2Strategy.prototype.parseErrorResponse) return undefined;
    return (body, status) => {
      try {
        return this.parseErrorResponse(body, status);
      } catch {
        return null;
      }
    };
  }

  private async loadProfile(accessToken: string, byDefault: RetailPosProfile): Promise<RetailPosProfile> {
    if (await isSkipped(this.shared().skipUserProfile, accessToken)) return byDefault;
    this.byDefault = byDefault;
    const [profile] = await answerOfHook({
      name: "userProfile",
      ask: (done) => this.userProfile(accessToken, done),
      takesDone: this.userProfile.length === 0 ? "perhaps" : this.userProfile.length > 1,
    });
    return (profile ?? byDefault) as RetailPosProfile;
  }
}

/** A state store of the application's own; else a cookie for each login, where the response is in reach. */
function keeperOf(settings: StrategySettings): StateKeeper {
  const { client, application, secrets, redirectUri, sessionKey, store, clock, trustProxy } = settings;
  const spent = spentStates(client);
  if (store !== undefined && store !== "session") {
    const metaOf = (callbackURL: string) => ({
      authorizationURL: application.authorizationUrl,
      tokenURL: tokenUrlOf(application),
      clientID: application.clientId,
      callbackURL,
    });
    return customState(store, metaOf, spent);
  }
  const inSession = sessionJar(sessionKey, spent);
  const own = { ...application, redirectUri };
  const inCookies = cookieJar({ application: own, secrets, clock, keeper: sessionKey }, trustProxy);
  const jarOf = (req: Request) => (store === "session" || !responseOf(req) ? inSession : inCookies);
  return ownStates({ jarOf, clock, spent, redirectUri });
}

function tokenUrlOf({ baseUrl }: Application): string {
  return `${baseUrl}/api/1.0/token`;
}
