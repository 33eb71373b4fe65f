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

/** The client of a request's retailer, and the bearer as it was when the request came in. */
export interface RequestBearer extends RetailerClient {
  /** The access token (or Personal Token). Not enumerable, so that logging a request does not show it. */
  readonly accessToken: string;
  /** The `Authorization` header for a call: `Bearer …` (4.4). Not enumerable either. */
  readonly authorization: string;
}

/** A domain prefix, still to be checked; `undefined`, `null`, `false` or an empty text for none. */
export type RetailerName = string | false | null | undefined;

/** Which retailer a request is for. May be async. */
export type RetailerOf<Context> = (context: Context) => RetailerName | PromiseLike<RetailerName>;

/** Options of the bearer middleware of every framework: `client` and `retailer`, or `personalToken`. */
export type BearerOptions<Context> = (OAuthBearer<Context> | PersonalBearer) & {
  /** Go on without a bearer when there is no retailer or the retailer is not connected; default false. */
  optional?: boolean | undefined;
  /** Also set `authorization` in the request's own headers, for a proxy behind the application; default false. */
  header?: boolean | undefined;
};

/** OAuth mode. */
export interface OAuthBearer<Context> {
  /** Whose tokens. */
  client: RetailPos;
  /**
   * Which retailer a request is for. Only the format is checked, so that no text of a stranger becomes part of an
   * address. Whether this person may act for this retailer is the application's to decide: return a prefix that its
   * own records give this person, and throw its own error (a 404) for any other.
   */
  retailer: RetailerOf<Context>;
  /** Not allowed together with `client` and `retailer`. */
  personalToken?: undefined;
}

/** Personal-token mode (R7). */
export interface PersonalBearer {
  /** The same token on every request, never renewed. */
  personalToken: PersonalTokenOptions;
  /** Not allowed together with `personalToken`. */
  client?: undefined;
  /** Not allowed together with `personalToken`. */
  retailer?: undefined;
}

const NAMES = ["client", "retailer", "personalToken", "optional", "header"];

/**
 * The part of a bearer middleware that knows no framework. The function it returns obtains the bearer of one request:
 * at once if a live token is held (no promise, so the request goes on in the same tick), else as a promise.
 * `undefined` means: go on without a bearer (`optional`).
 *
 * That function throws, or its promise rejects with, the errors of {@link RetailPos.retailer} and of the client's
 * `token`; `NotConnectedError` also if `retailer` named nobody; and any error of `retailer` itself.
 *
 * Its second argument is needed with `header: true` only: Node's request, or the web's `Request`. A `TypeError` says
 * that a request cannot take the header.
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
    if (header) setAuthorization(message, undefined); // a header that the caller sent must not look like ours
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
    // Functions of its own: a bearer may be copied or taken apart, and an application's own client may need its `this`.
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
      throw new TypeError("personalToken stands alone: leave out client and retailer");
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
