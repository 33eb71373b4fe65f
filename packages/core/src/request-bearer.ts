import type { DomainPrefix } from "./domain-prefix.js";
import { isRetailPosError, NotConnectedError } from "./errors.js";
import { type PersonalTokenOptions, personalToken } from "./personal-token.js";
import { type RequestMessage, setAuthorization } from "./request-headers.js";
import type { RetailPos } from "./retail-pos.js";
import type { RetailerClient } from "./retailer-client.js";
import type { AccessToken } from "./token-set.js";

/** What a request gets: its retailer's client, and the bearer as it was when the request came in. */
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
  optional?: boolean;
  /** Also set the request's own `authorization`, wherever its platform keeps it, for a proxy behind; default false. */
  header?: boolean;
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
  /** The other mode's. */
  personalToken?: never;
}

/** Personal-token mode (R7). */
export interface PersonalBearer {
  /** The same token on every request, never renewed. */
  personalToken: PersonalTokenOptions;
  /** The other mode's. */
  client?: never;
  /** The other mode's. */
  retailer?: never;
}

/**
 * The part of a bearer middleware that knows no framework. The function it returns obtains the bearer of
 * one request: at once where a live token is held (no promise, so the request goes on in the same tick),
 * else as a promise. `undefined` means: go on without (`optional`).
 *
 * The message is needed with `header: true` only: Node's request, or the web's `Request`. One that cannot take the
 * header is a `TypeError` then.
 *
 * @throws {TypeError} naming the option that is wrong.
 */
export function requestBearer<Context>(
  options: BearerOptions<Context>,
): (
  context: Context,
  message?: RequestMessage,
) => RequestBearer | undefined | Promise<RequestBearer | undefined> {
  if (typeof options !== "object" || options === null) throw new TypeError("options must be an object");
  const clientOf = clientFor(options);
  const { optional = false, header = false } = options;

  return (context, message) => {
    try {
      const client = clientOf(context);
      if (!client) throw new NotConnectedError();
      if (client instanceof Promise) return later(client, message);
      const now = client.tokenNow?.();
      return now ? dressed(client, now, message) : later(client, message);
    } catch (error) {
      return orWithout(error, message);
    }
  };

  /** A function of its own, because what waits keeps its variables on the heap, and most requests do not wait. */
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
    if (header) setAuthorization(message, undefined); // what the caller sent is not ours to vouch for
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
    // Functions of its own: they are copied and taken apart, and a client of the application's own needs its `this`.
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
  if (typeof client?.retailer !== "function") throw new TypeError("client must be what retailPos() returns");
  if (typeof retailer !== "function")
    throw new TypeError("retailer must be a function: which retailer is a request for?");
  const known = (name: RetailerName) =>
    name === undefined || name === null || name === false || name === "" ? undefined : client.retailer(name);
  return (context) => {
    const name = retailer(context);
    return isThenable(name) ? Promise.resolve(name).then(known) : known(name);
  };
}

function isThenable<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof (value as PromiseLike<T> | null | undefined)?.then === "function";
}
