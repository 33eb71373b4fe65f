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

type Addressing = "authUrl" | "baseUrl";
type WithDefault = "renewEarlyMs" | "cacheMs" | "timeoutMs" | "userAgent" | "fetch" | "clock" | "background";

/** The checked options, with defaults. */
export type CheckedOptions = { addresses: Addresses } & Required<
  Omit<RetailPosOptions, Addressing | WithDefault>
> & { [Name in WithDefault]: NonNullable<RetailPosOptions[Name]> };

type Check<T> = (name: string, value: unknown) => T;

/** A timer cannot wait longer. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

const CHECKS: { [Name in Exclude<keyof RetailPosOptions, Addressing>]: Check<CheckedOptions[Name]> } = {
  clientId: text,
  clientSecret: text,
  redirectUri: optional(redirectUri),
  scope: optional(scopeText),
  store: optional(store),
  lock: fn<Lock>,
  renewEarlyMs: milliseconds(300_000, 0),
  cacheMs: milliseconds(10_000, 0),
  timeoutMs: milliseconds(10_000, 1, LONGEST_TIMEOUT_MS),
  userAgent: (name, value) => headerText(name, value === undefined ? "retail-pos-auth" : value),
  fetch: (name, value) => plainFetch(fn<typeof globalThis.fetch>(name, value)),
  clock: (name, value) => (value === undefined ? Date.now : clockIn(name, value)),
  observe: fn<(event: RetailPosEvent) => void>,
  acceptRetailer: fn<AcceptRetailer>,
  background: (name, value) => inBackground(fn<CheckedOptions["background"]>(name, value)),
};

/**
 * @throws {TypeError} an option is wrong or misspelt. The message has its right name, and no value.
 */
export function checkOptions(options: RetailPosOptions): CheckedOptions {
  refuseMisspelt(options, ["authUrl", "baseUrl", ...Object.keys(CHECKS)], ELSEWHERE);
  const addresses = addressesAt(options.authUrl, options.baseUrl);
  const checked = Object.entries(CHECKS).map(([name, check]) => [
    name,
    check(name, options[name as keyof RetailPosOptions]),
  ]);
  return { addresses, ...Object.fromEntries(checked) };
}

/** Other packages' names for our options. */
const ELSEWHERE: Readonly<Record<string, keyof RetailPosOptions>> = {
  authorizationurl: "authUrl",
  callbackurl: "redirectUri",
  callbackuri: "redirectUri",
  redirecturl: "redirectUri",
  fetcher: "fetch",
  tokenstore: "store",
};

function optional<T>(check: Check<T>): Check<T | undefined> {
  return (name, value) => (value === undefined ? undefined : check(name, value));
}

function text(name: string, value: unknown): string {
  if (typeof value !== "string" || value.trim() === "")
    throw new TypeError(`${name} must be a non-empty text${ifNone(value, name)}`);
  refuseStrayCharacters(name, value);
  return value;
}

/** Other packages take a list of scopes; the error for a list says what to give here. */
function scopeText(name: string, value: unknown): string {
  if (Array.isArray(value))
    throw new TypeError(
      'scope must be one text with a space between scopes, as in "products:read sales:read"',
    );
  return text(name, value);
}

/** Stored expiries are computed with the clock, so a wrong clock would damage the records. */
function clockIn(name: string, value: unknown): () => number {
  const clock = fn<() => number>(name, value);
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

function milliseconds(byDefault: number, least: number, most = Number.MAX_VALUE): Check<number> {
  return (name, value = byDefault) => {
    if (typeof value === "number" && value >= least && value <= most) return value;
    const bound = most === LONGEST_TIMEOUT_MS ? `, at most ${most}` : "";
    throw new TypeError(`${name} must be a number of milliseconds, ${least} or more${bound}`);
  };
}

function fn<T>(name: string, value: unknown): T | undefined {
  if (value !== undefined && typeof value !== "function")
    throw new TypeError(`${name} must be a function, not ${kindOf(value)}`);
  return value as T | undefined;
}

function store(_: string, value: unknown): TokenStore {
  for (const method of ["load", "save", "remove"] as const) {
    if (typeof (value as TokenStore | null)?.[method] !== "function")
      throw new TypeError(`store must have load, save and remove; no ${method}`);
  }
  return value as TokenStore;
}

/** Decides whether a login as this retailer is accepted. */
export type AcceptRetailer = (domainPrefix: DomainPrefix) => boolean | Promise<boolean>;
