import type { RetailPos, RetailPosOptions, TokenStore } from "@retail-pos/core";
import type { LogFailures } from "@retail-pos/login";
import type { SkipUserProfile } from "./hooks/skip-profile.js";
import type { StateStore } from "./hooks/state-store.js";

/** Options of both styles. */
interface CommonOptions {
  /**
   * Seals the cookies of logins under way; 32 characters or more. In a list, the first secret seals, and all open.
   * Default: a secret that the client derives from its client secret.
   */
  secret?: string | readonly string[] | undefined;
  /**
   * Tells strategies of one client apart: the name of their slot in the session, and part of the names of their
   * cookies. Default `retail-pos:`, the host of `authUrl`, the client id, and `baseUrl` without its scheme.
   */
  sessionKey?: string | undefined;
  /**
   * Where logins under way are kept, if not in a sealed cookie each: "session", or a state store of your own, as
   * passport-oauth2 defines it. Not a token store. With @fastify/passport it is always one of these two.
   */
  store?: StateStore | "session" | undefined;
  /** Sent only if given; the service knows no scopes (R1). */
  scope?: string | string[] | undefined;
  /** Joins a list of scopes; default a space. */
  scopeSeparator?: string | undefined;
  /**
   * Leaves the `userProfile` of a subclass out, as in passport-oauth2; the profile then holds only the domain prefix.
   * A function decides for each login, by its answer or through `done`. Default false.
   */
  skipUserProfile?: SkipUserProfile | undefined;
  /** Whether verify gets the request first; default false. */
  passReqToCallback?: boolean | undefined;
  /** Trust `X-Forwarded-Proto` and `-Host` if `callbackURL` is relative; default: the application's own setting. */
  proxy?: boolean | undefined;
  /**
   * Says why a login failed in one line for each reason, once, to help while you develop; default: on the console while
   * `NODE_ENV` is "development" or not set. Passport's own answer is a bare `Forbidden`. A session that will not come
   * back (its cookie is Secure and the request is not, its store loses it) is said in the same way, in production too.
   */
  logFailures?: LogFailures | undefined;
  /** Epoch milliseconds, for the 15 minutes a login may take; default `Date.now`. */
  clock?: (() => number) | undefined;
}

/** The client has them. */
export const OF_CLIENT = ["authUrl", "baseUrl", "clientID", "clientSecret", "tokenStore"] as const;

/** With a client that the application made: one client for login, bearer and everything else. */
export interface ClientOptions extends CommonOptions, Partial<Record<(typeof OF_CLIENT)[number], undefined>> {
  /** The client that `retailPos()` returned. */
  client: RetailPos;
  /** Only if it differs from the client's `redirectUri`; may be relative. */
  callbackURL?: string | undefined;
}

/** Passport style: the strategy makes the client; it is `strategy.client`. */
export interface PassportOptions
  extends CommonOptions,
    Omit<RetailPosOptions, "authUrl" | "clientId" | "redirectUri" | "scope" | "store" | "clock"> {
  /** {auth_url}, as in core's options; a strategy is for logins. */
  authUrl: string | URL;
  /** Of the registered application (2.1). */
  clientID: string;
  /** Exactly as registered; a relative one is resolved against each request. */
  callbackURL: string;
  /** Where tokens are kept; core's `store`. */
  tokenStore?: TokenStore | undefined;
  /** Not allowed together with the options that make a client. */
  client?: undefined;
}

/** Either a `client` that the application made, or the options to make one. */
export type RetailPosStrategyOptions = ClientOptions | PassportOptions;

/** Options of `passport.authenticate("retail-pos", options)` for one login. */
export interface LoginOptions {
  /** The application's own state, any JSON: kept for the callback, never sent; comes back as `req.authInfo.state`. */
  state?: unknown;
  /**
   * The callback URL of this login: https, or http on a loopback host; may be relative. It is kept for the callback.
   */
  callbackURL?: string | undefined;
  /** Sent only if given; the service knows no scopes (R1). */
  scope?: string | string[] | undefined;
  /** Passport's: whether the login is kept in the session; default true. */
  session?: boolean | undefined;
  /** Passport's: puts the user on this property of the request, and logs nobody in. */
  assignProperty?: string | undefined;
}
