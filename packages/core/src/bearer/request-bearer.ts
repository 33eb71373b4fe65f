import { type PersonalTokenOptions, personalToken } from "../client/personal-token.js";
import type { RetailerClient } from "../client/retailer-client.js";
import type { RetailPos } from "../retail-pos.js";
import { refuseMisspelt } from "../settings/option-checks.js";
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
 * The part of a bearer middleware that knows no framework. The function it returns obtains the bearer of one request;
 * `undefined` means: go on without a bearer (`optional`).
 *
 * Its promise rejects with the errors of {@link RetailPos.retailer} and of the client's `token`; with
 * `NotConnectedError` also if `retailer` named nobody; and with any error of `retailer` itself. What is no
 * error, such as a text, comes as the `cause` of one.
 *
 * Its second argument is needed only with `header: true`: Node's request, or a web `Request`. It throws a `TypeError`
 * if the header cannot be set.
 *
 * @throws {TypeError} naming the option that is wrong.
 */
export function requestBearer<Context>(
  options: BearerOptions<Context>,
): (context: Context, message?: RequestMessage) => Promise<RequestBearer | undefined> {
  refuseMisspelt(options, NAMES, { domainprefix: "retailer", retailpos: "client", pos: "client" });
  const clientOf = clientFor(options);
  const { optional = false, header = false } = options;

  return async (context, message) => {
    let bearer: RequestBearer | undefined;
    try {
      const client = await clientOf(context);
      bearer = bearerOf(client, await client.token());
    } catch (error) {
      if (!optional || !isRetailPosError(error) || error.code !== "not_connected") throw asError(error);
    } finally {
      // Also without a bearer: a header that the caller sent, or another bearer set, must not look like this one's.
      if (header) setAuthorization(message, bearer?.authorization);
    }
    return bearer;
  };
}

/** To a framework `next(undefined)` and `next("route")` are no errors, and `retailer` may throw anything. */
function asError(error: unknown): unknown {
  const isOne = typeof error === "object" && error !== null;
  return isOne ? error : new Error("The `retailer` option threw what is no error", { cause: error });
}

function clientFor<Context>({
  client,
  retailer,
  personalToken: personal,
}: BearerOptions<Context>): (context: Context) => Promise<RetailerClient> {
  if (personal !== undefined) {
    if (client !== undefined || retailer !== undefined) {
      throw new TypeError("personalToken replaces client and retailer: leave them out");
    }
    const one = personalToken(personal);
    return async () => one;
  }
  if (typeof client?.retailer !== "function")
    throw new TypeError(`client must be what retailPos() returns, not ${kindOf(client)}`);
  if (typeof retailer !== "function")
    throw new TypeError(
      `retailer must be a function that says which retailer a request is for, not ${kindOf(retailer)}`,
    );
  return async (context) => {
    const name = await retailer(context);
    if (name === undefined || name === null || name === false || name === "") throw new NotConnectedError();
    if (typeof name !== "string")
      throw new InvalidDomainPrefixError(`the \`retailer\` option returned ${kindOf(name)}`);
    return client.retailer(name);
  };
}

function bearerOf(client: RetailerClient, { value }: AccessToken): RequestBearer {
  const bearer = {
    domainPrefix: client.domainPrefix,
    baseUrl: client.baseUrl,
    // Functions of its own: a bearer may be taken apart, and a client of the application's own may need its `this`.
    token: (ask) => client.token(ask),
    fetch: (input, init) => client.fetch(input, init),
  } satisfies RetailerClient;
  // Getters that are not enumerable: no log, JSON or copy shows what they return.
  return Object.defineProperties(bearer, {
    accessToken: { get: () => value },
    authorization: { get: () => `Bearer ${value}` },
  }) as RequestBearer;
}
