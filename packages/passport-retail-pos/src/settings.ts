import { type RetailPos, retailPos, type TokenStore } from "@retail-pos/core";
import { checkedRedirectUri, refuseMisspelt } from "@retail-pos/core/authoring";
import {
  type Application,
  applicationOf,
  failureLog,
  type SealSecret,
  secretsIn,
  sessionLog,
} from "../../login/src/parts.js";
import type { SkipUserProfile } from "./hooks/skip-profile.js";
import type { StateStore } from "./hooks/state-store.js";
import { OF_CLIENT, type PassportOptions, type RetailPosStrategyOptions } from "./options.js";

/** The options once they are checked, with every default filled in. */
export interface StrategySettings {
  readonly client: RetailPos;
  readonly application: Application;
  /** For logins that name no other. */
  readonly redirectUri: string;
  /** As given; may be relative. */
  readonly callbackURL: string | undefined;
  readonly sessionKey: string;
  readonly store: StateStore | "session" | undefined;
  /** Of the cookies. */
  readonly secrets: readonly SealSecret[];
  readonly clock: () => number;
  readonly scope: string | string[] | undefined;
  readonly scopeSeparator: string;
  readonly skipUserProfile: SkipUserProfile | undefined;
  readonly passReqToCallback: boolean;
  readonly trustProxy: boolean;
  readonly logFailure: (failure: { code: string; message: string }) => void;
  readonly logSession: (problem: string, what?: string) => void;
}

/** Core knows the names of its own options. */
const NAMES: readonly string[] = [
  ...OF_CLIENT,
  ..."client callbackURL lock clock secret sessionKey store scope scopeSeparator skipUserProfile".split(" "),
  ..."passReqToCallback proxy logFailures".split(" "),
];

/** Of core and of other packages. */
const ELSEWHERE: Readonly<Record<string, keyof PassportOptions>> = {
  authorizationurl: "authUrl",
  redirecturi: "callbackURL",
  redirecturl: "callbackURL",
  callbackuri: "callbackURL",
};

/** The base of a relative callback URL while there is no request. A login that used it would fail visibly. */
const NO_REQUEST = "https://callback-url-is-relative.invalid";

/** @throws {TypeError} naming the option that is wrong. */
export function checkOptions(options: RetailPosStrategyOptions): StrategySettings {
  refuseMisspelt(options, NAMES, ELSEWHERE);
  const { state, pkce, store, secret, sessionKey, clock, skipUserProfile } = options as unknown as Record<
    string,
    unknown
  >;
  if (state === false)
    throw new TypeError("state cannot be switched off: without it anybody can log a person in");
  if (pkce) throw new TypeError("pkce is not supported by the service; leave the option out");
  if (sessionKey !== undefined && (typeof sessionKey !== "string" || sessionKey === ""))
    throw new TypeError("sessionKey must be a non-empty text");
  if (!["undefined", "boolean", "function"].includes(typeof skipUserProfile))
    throw new TypeError("skipUserProfile must be true, false or a function");
  if (clock !== undefined && typeof clock !== "function") throw new TypeError("clock must be a function");

  const client = clientOf(options);
  const { callbackURL } = options;
  const application = applicationOf(client);
  const redirectUri = callbackURL === undefined ? application.redirectUri : callbackUrl(callbackURL);
  if (redirectUri === undefined)
    throw new TypeError("callbackURL must be given, because the client has no redirectUri");
  const { authorizationUrl, clientId, baseUrl } = application;
  const key = `retail-pos:${new URL(authorizationUrl).host}/${clientId}/${baseUrl.replace(/^https?:\/\//, "")}`;
  return {
    client,
    application,
    redirectUri,
    callbackURL,
    sessionKey: options.sessionKey ?? key,
    store: stateStore(store),
    secrets: secretsIn(secret, client),
    clock: options.clock ?? Date.now,
    scope: options.scope,
    scopeSeparator: options.scopeSeparator ?? " ",
    skipUserProfile: options.skipUserProfile,
    passReqToCallback: options.passReqToCallback === true,
    trustProxy: options.proxy === true,
    logFailure: failureLog(options.logFailures),
    logSession: sessionLog(options.logFailures),
  };
}

function clientOf(options: RetailPosStrategyOptions): RetailPos {
  if ("client" in options && options.client !== undefined) {
    for (const name of OF_CLIENT) {
      if (options[name] !== undefined)
        throw new TypeError(`${name} belongs to the client: give either client or ${name}`);
    }
    return options.client;
  }
  const {
    clientID,
    callbackURL,
    tokenStore,
    scope: _scope,
    store: _stateStore,
    secret: _secret,
    ...rest
  } = options as PassportOptions; // scopes and states are the strategy's own
  if ("client" in options && clientID === undefined)
    throw new TypeError("client must be what retailPos() returns; undefined was given");
  if (typeof clientID !== "string" || clientID.trim() === "") {
    const none =
      clientID === undefined ? "; none was given (settingsFromEnv() reads RETAIL_POS_CLIENT_ID)" : "";
    throw new TypeError(`clientID must be a non-empty text${none}`);
  }
  if (tokenStore !== undefined && typeof (tokenStore as Partial<TokenStore> | null)?.load !== "function")
    throw new TypeError("tokenStore must be a token store with load(), save() and remove()");
  return retailPos({
    ...rest,
    clientId: clientID,
    redirectUri: callbackUrl(callbackURL),
    ...(tokenStore !== undefined && { store: tokenStore }),
  });
}

function callbackUrl(value: unknown): string {
  if (typeof value !== "string" || value === "") {
    const none =
      value === undefined ? "; none was given (settingsFromEnv() reads RETAIL_POS_REDIRECT_URI)" : "";
    throw new TypeError(`callbackURL must be a URL, exactly as registered${none}`);
  }
  if (URL.canParse(value)) return checkedRedirectUri("callbackURL", value);
  const isHost = /^[^./?#]+\.[^/?#]*\//.test(value); // "app.example.com/callback"
  if (isHost || /[\s#]/.test(value) || !URL.canParse(value, NO_REQUEST))
    throw new TypeError(
      "callbackURL must begin with https://, or with / if it is relative; it has no fragment",
    );
  return new URL(value, NO_REQUEST).href;
}

function stateStore(value: unknown): StateStore | "session" | undefined {
  if (value === "session") return value;
  if (value === undefined || value === null || typeof value === "boolean") return undefined; // as passport-oauth2
  const { store, verify } = value as Partial<StateStore>;
  if (typeof store === "function" && typeof verify === "function") return value as StateStore;
  throw new TypeError(
    'store must be "session" or a state store with store() and verify(); a token store is given as tokenStore',
  );
}
