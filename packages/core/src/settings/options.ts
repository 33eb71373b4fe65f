import { plainFetch } from "../platform/fetch.js";
import type { DomainPrefix } from "../vocabulary/domain-prefix.js";
import { kindOf } from "../vocabulary/errors.js";
import { callSafely, type RetailPosEvent } from "../vocabulary/events.js";
import type { Lock } from "../vocabulary/lock.js";
import type { TokenStore } from "../vocabulary/token-store.js";
import { type Addresses, addressesAt, redirectUri } from "./addresses.js";
import { ifNone, refuseMisspelt, refuseStrayCharacters } from "./option-checks.js";

/** Options of {@link retailPos}: the service, the application, and the store for the tokens. */
export interface RetailPosOptions {
  /**
   * {auth_url}, the address of the consent server, to which core appends `/connect` (4.1). It must be https, or http on
   * loopback. A program without logins leaves out `authUrl` and `redirectUri`.
   */
  authUrl?: string | URL | undefined;
  /**
   * {base_url} as a template. It contains `{domain_prefix}` exactly once, as the first label of the host
   * (`https://{domain_prefix}.example.com`) or as a segment of the path. It must be https, or http on loopback.
   */
  baseUrl: string;
  /** The registered application's `client_id` (2.1). */
  clientId: string;
  /** The registered application's `client_secret`. Core sends it to token endpoints only (4.2, 4.3). */
  clientSecret: string;
  /**
   * The redirect URI, exactly as registered. Core sends it unchanged, in the authorization request and in the token
   * request (4.1, 4.2). It must be https, or http on loopback.
   */
  redirectUri?: string | undefined;
  /**
   * The scope of the authorization request. Without this option core sends none (R1), but some services of this kind
   * refuse a login without a scope.
   */
  scope?: string | undefined;
  /** Keeps the tokens. Default `memoryStore()`, which is empty after a restart. */
  store?: TokenStore | undefined;
  /** Prevents two renewals of one retailer at a time. Default `memoryLock()`, which works within one process. */
  lock?: Lock | undefined;
  /**
   * How many milliseconds before its expiry a token is renewed, but never more than a tenth of its lifetime. Default
   * 300 000.
   */
  renewEarlyMs?: number | undefined;
  /**
   * How many milliseconds this process uses cached tokens before it asks the store again. Default 10 000. With 0 it
   * asks the store for every call.
   */
  cacheMs?: number | undefined;
  /**
   * How many milliseconds one token request may take, until its answer's body is read. Default 10 000. A caller waits
   * no longer than `timeoutMs` for a request of its own process, and up to 30 seconds more while other processes try in
   * vain to renew the same tokens. If a renewal's answer comes late, but within three times `timeoutMs`, its tokens are
   * still saved, because the service may have ended the old refresh token (R4).
   */
  timeoutMs?: number | undefined;
  /** The `User-Agent` header of token requests. Default `retail-pos-auth`. */
  userAgent?: string | undefined;
  /**
   * Sends token requests and API calls. Default `globalThis.fetch`. If your function follows a redirect to another
   * origin, it has to drop the `Authorization` header, as the default does.
   */
  fetch?: typeof globalThis.fetch | undefined;
  /** Returns the time in epoch milliseconds. Default `Date.now`. */
  clock?: (() => number) | undefined;
  /**
   * Called with each event. Events show no secret. Nobody waits for your function, and its errors are ignored; if it
   * returns a promise, `background` is told of that.
   */
  observe?: ((event: RetailPosEvent) => void) | undefined;
  /**
   * Decides whether a login as this retailer is accepted. Core calls it before it sends the login's code and the client
   * secret to that retailer's host. Any answer but `true` ends the login with a `RetailerNotAcceptedError`. Default:
   * every valid domain prefix is accepted.
   */
  acceptRetailer?: AcceptRetailer | undefined;
  /**
   * Called with a promise of work that may take longer than the request that began it: each renewal, tokens that come
   * after `timeoutMs`, repeated saves, and what `observe` returns. Some runtimes stop all work of a request once it is
   * answered (Cloudflare Workers, serverless functions): there give the promise to `waitUntil` or `after`. Core calls
   * the function in the async context of its caller, and ignores errors that the function throws. The promise never
   * rejects. Default: the work goes on by itself, as in Node.
   */
  background?: ((work: Promise<unknown>) => void) | undefined;
}

/** The checked options, with defaults. */
export interface CheckedOptions {
  addresses: Addresses;
  clientId: string;
  clientSecret: string;
  redirectUri: string | undefined;
  scope: string | undefined;
  store: TokenStore | undefined;
  lock: Lock | undefined;
  renewEarlyMs: number;
  cacheMs: number;
  timeoutMs: number;
  userAgent: string;
  fetch: typeof globalThis.fetch;
  clock: () => number;
  observe: ((event: RetailPosEvent) => void) | undefined;
  acceptRetailer: AcceptRetailer | undefined;
  background: (work: Promise<unknown>) => void;
}

/** A timer cannot wait longer. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

/**
 * @throws {TypeError} an option is wrong or misspelt. The message has its right name, and no value.
 */
export function checkOptions(options: RetailPosOptions): CheckedOptions {
  refuseMisspelt(options, NAMES, ELSEWHERE);
  return {
    addresses: addressesAt(options.authUrl, options.baseUrl),
    clientId: text("clientId", options.clientId),
    clientSecret: text("clientSecret", options.clientSecret),
    redirectUri: given(options.redirectUri, (uri) => redirectUri("redirectUri", uri)),
    scope: given(options.scope, scopeText),
    store: given(options.store, store),
    lock: fn("lock", options.lock),
    renewEarlyMs: duration("renewEarlyMs", options.renewEarlyMs, 300_000, 0),
    cacheMs: duration("cacheMs", options.cacheMs, 10_000, 0),
    timeoutMs: duration("timeoutMs", options.timeoutMs, 10_000, 1, LONGEST_TIMEOUT_MS),
    userAgent: headerText(
      "userAgent",
      options.userAgent === undefined ? "retail-pos-auth" : options.userAgent,
    ),
    fetch: plainFetch(fn("fetch", options.fetch)),
    clock: given(options.clock, clockIn) ?? Date.now,
    observe: fn("observe", options.observe),
    acceptRetailer: fn("acceptRetailer", options.acceptRetailer),
    background: inBackground(fn("background", options.background)),
  };
}

function text(name: string, value: unknown): string {
  if (typeof value !== "string" || value.trim() === "")
    throw new TypeError(`${name} must be a non-empty text${ifNone(value, name)}`);
  refuseStrayCharacters(name, value);
  return value;
}

/** Other packages take a list of scopes; the error for a list says what to give here. */
function scopeText(value: unknown): string {
  if (Array.isArray(value))
    throw new TypeError(
      'scope must be one text with a space between scopes, as in "products:read sales:read"',
    );
  return text("scope", value);
}

/** Stored expiries are computed with the clock, so a wrong clock would damage the records. */
function clockIn(value: unknown): () => number {
  const clock = fn("clock", value as () => number);
  if (clock && Number.isFinite(clock())) return clock;
  throw new TypeError("clock must return epoch milliseconds, as Date.now does");
}

function headerText(name: string, value: unknown): string {
  if (!/^[\x20-\x7e]+$/.test(text(name, value))) throw new TypeError(`${name} must be printable ASCII`);
  return value as string;
}

/** The application's function, given a promise that never rejects; its own errors disturb nothing. */
function inBackground(told: CheckedOptions["background"] | undefined): CheckedOptions["background"] {
  return (work) => {
    const ended = work.then(
      () => {},
      () => {},
    );
    if (told) callSafely(() => told(ended));
  };
}

function given<T, R>(value: T | undefined, checked: (value: T) => R): R | undefined {
  return value === undefined ? undefined : checked(value);
}

function duration(name: string, value: unknown, byDefault: number, least: number, most?: number): number {
  if (value === undefined) return byDefault;
  if (typeof value !== "number" || !Number.isFinite(value) || value < least || (most && value > most)) {
    throw new TypeError(
      `${name} must be a number of milliseconds, ${least} or more${most ? `, at most ${most}` : ""}`,
    );
  }
  return value;
}

function fn<T>(name: string, value: T | undefined): T | undefined {
  if (value !== undefined && typeof value !== "function")
    throw new TypeError(`${name} must be a function, not ${kindOf(value)}`);
  return value;
}

function store(value: TokenStore): TokenStore {
  for (const method of ["load", "save", "remove"] as const) {
    if (typeof value?.[method] !== "function")
      throw new TypeError(`store must have load, save and remove; no ${method}`);
  }
  return value;
}

export const NAMES: readonly string[] = Object.keys({
  authUrl: 0,
  baseUrl: 0,
  clientId: 0,
  clientSecret: 0,
  redirectUri: 0,
  scope: 0,
  store: 0,
  lock: 0,
  renewEarlyMs: 0,
  cacheMs: 0,
  timeoutMs: 0,
  userAgent: 0,
  fetch: 0,
  clock: 0,
  observe: 0,
  acceptRetailer: 0,
  background: 0,
} satisfies Record<keyof RetailPosOptions, 0>);

/** Other packages' names for our options. */
export const ELSEWHERE: Readonly<Record<string, keyof RetailPosOptions>> = {
  authorizationurl: "authUrl",
  callbackurl: "redirectUri",
  callbackuri: "redirectUri",
  redirecturl: "redirectUri",
  fetcher: "fetch",
  tokenstore: "store",
};

/** Decides whether a login as this retailer is accepted. */
export type AcceptRetailer = (domainPrefix: DomainPrefix) => boolean | Promise<boolean>;
