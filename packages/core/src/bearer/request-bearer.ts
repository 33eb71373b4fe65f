import { type PersonalTokenOptions, personalToken } from "../client/personal-token.js";
import type { RetailerClient } from "../client/retailer-client.js";
import type { RetailPos } from "../retail-pos.js";
import { refuseMisspelt } from "../settings/option-checks.js";
import type { DomainPrefix } from "../vocabulary/domain-prefix.js";
import {
  InvalidDomainPrefixError,
  isRetailPosError,
  kindOf,
  NotConnectedError,
} from "../vocabulary/errors.js";
import type { AccessToken } from "../vocabulary/token-set.js";
import { type RequestMessage, setAuthorization } from "./set-authorization.js";

/** The client of a request's retailer, and the bearer at the time when the request came. */
export interface RequestBearer extends RetailerClient {
  /** The access token (or Personal Token). Not enumerable, so that logging a request does not show it. */
  readonly accessToken: string;
  /** The `Authorization` header for a call: `Bearer …` (4.4). Not enumerable either. */
  readonly authorization: string;
}

/** A domain prefix, which core checks; or `undefined`, `null`, `false` or an empty text for none. */
export type RetailerName = string | false | null | undefined;

/** Names the retailer that a request is for. May be async. */
export type RetailerOf<Context> = (context: Context) => RetailerName | PromiseLike<RetailerName>;

/** Options of the bearer middleware of every framework: `client` and `retailer`, or `personalToken`. */
export type BearerOptions<Context> = (OAuthBearer<Context> | PersonalBearer) & {
  /** Continue without a bearer if there is no retailer, or the retailer is not connected; default `false`. */
  optional?: boolean | undefined;
  /** Also set `authorization` in the request's own headers, for a proxy behind the application; default `false`. */
  header?: boolean | undefined;
};

/** Options for tokens of a login (OAuth). */
export interface OAuthBearer<Context> {
  /** Has the tokens: the result of `retailPos()`. */
  client: RetailPos;
  /**
   * Names the retailer that a request is for. Core checks only the format of the name; your application decides who may
   * act for which retailer. Return a prefix that your records give this person, and throw your own error (a 404) for
   * any other.
   */
  retailer: RetailerOf<Context>;
  /** Not allowed together with `client` and `retailer`. */
  personalToken?: undefined;
}

/** Options for a Personal Token (R7). */
export interface PersonalBearer {
  /** The token of every request, never renewed. */
  personalToken: PersonalTokenOptions;
  /** Not allowed together with `personalToken`. */
  client?: undefined;
  /** Not allowed together with `personalToken`. */
  retailer?: undefined;
}

const NAMES = ["client", "retailer", "personalToken", "optional", "header"];

/**
 * The part of a bearer middleware that every framework needs. It returns a function that gets the bearer of one
 * request: without a promise if a valid token is cached, so that the request goes on in the same tick, else as a
 * promise. `undefined` means that the request goes on without a bearer (`optional`).
 *
 * That function throws, or its promise rejects with, the errors of {@link RetailPos.retailer} and of the client's
 * `token`; a `NotConnectedError` also if `retailer` returned no name; and any error of `retailer` itself.
 *
 * Its second argument is needed only with `header: true`: Node's request, or a web `Request`. It throws a `TypeError`
 * if the header cannot be set.
 *
 * @throws {TypeError} naming the option that is wrong.
 */
export function requestBearer<Context>(
  options: BearerOptions<Context>,
): (
  context: Context,
  message?: RequestMessage,
) => RequestBearer | undefined | Promise<RequestBearer | undefined> {
  refuseMisspelt(options, NAMES, { domainprefix: "retailer", retailpos: "client", pos: "client" });
  const clientOf = clientFor(options);
  const { optional = false, header = false } = options;

  return (context, message) => {
    try {
      const client = clientOf(context);
      if (!client) throw new NotConnectedError();
      if (isThenable(client)) return later(client, message);
      const now = client.tokenNow?.();
      return now ? dressed(client, now, message) : later(client, message);
    } catch (error) {
      return orWithout(error, message);
    }
  };

  /** A function of its own: only requests that wait pay for the variables that an async function keeps on the heap. */
  async function later(
    coming: RetailerClient | Promise<RetailerClient | undefined>,
    message?: RequestMessage,
  ): Promise<RequestBearer | undefined> {
    try {
      const client = await coming;
      if (!client) throw new NotConnectedError();
      return dressed(client, client.tokenNow?.() ?? (await client.token()), message);
    } catch (error) {
      return orWithout(error, message);
    }
  }

  function dressed(
    client: RetailerClient,
    { value }: AccessToken,
    message: RequestMessage | undefined,
  ): RequestBearer {
    const bearer = new BearerOfRequest(client, value);
    if (header) setAuthorization(message, bearer.authorization);
    return bearer;
  }

  function orWithout(error: unknown, message: RequestMessage | undefined): undefined {
    if (!optional || !isRetailPosError(error) || error.code !== "not_connected") throw error;
    if (header) setAuthorization(message, undefined); // an incoming header must not look like ours
  }
}

/** A class because there is one for each request: getters on its prototype cost nothing, on an object they do. */
class BearerOfRequest implements RequestBearer {
  readonly domainPrefix: DomainPrefix;
  readonly baseUrl: string;
  readonly token: RetailerClient["token"];
  readonly tokenNow: Required<RetailerClient>["tokenNow"];
  readonly fetch: RetailerClient["fetch"];
  readonly #accessToken: string;

  constructor(client: RetailerClient, accessToken: string) {
    this.domainPrefix = client.domainPrefix;
    this.baseUrl = client.baseUrl;
    // Own functions, because a bearer may be copied or destructured, and an application's own client may need `this`.
    this.token = (ask) => client.token(ask);
    this.tokenNow = () => client.tokenNow?.();
    this.fetch = (input, init) => client.fetch(input, init);
    this.#accessToken = accessToken;
  }
  get accessToken(): string {
    return this.#accessToken;
  }
  get authorization(): string {
    return `Bearer ${this.#accessToken}`;
  }
}

type ClientOf<Context> = (
  context: Context,
) => RetailerClient | undefined | Promise<RetailerClient | undefined>;

function clientFor<Context>({
  client,
  retailer,
  personalToken: personal,
}: BearerOptions<Context>): ClientOf<Context> {
  if (personal !== undefined) {
    if (client !== undefined || retailer !== undefined) {
      throw new TypeError("personalToken replaces client and retailer: leave them out");
    }
    const one = personalToken(personal);
    return () => one;
  }
  if (typeof client?.retailer !== "function")
    throw new TypeError(`client must be what retailPos() returns, not ${kindOf(client)}`);
  if (typeof retailer !== "function")
    throw new TypeError(
      `retailer must be a function that says which retailer a request is for, not ${kindOf(retailer)}`,
    );
  const known = (name: RetailerName) => {
    if (name === undefined || name === null || name === false || name === "") return undefined;
    if (typeof name !== "string")
      throw new InvalidDomainPrefixError(`the \`retailer\` option returned ${kindOf(name)}`);
    return client.retailer(name);
  };
  return (context) => {
    const name = retailer(context);
    return isThenable(name) ? Promise.resolve(name).then(known) : known(name);
  };
}

function isThenable<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof (value as PromiseLike<T> | null | undefined)?.then === "function";
}
