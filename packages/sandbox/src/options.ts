import type { TlsOptions } from "node:tls";
import { demoRetailers, type NamedStore } from "./stores/demo-retailers.js";
import { isDomainPrefix } from "./stores/retailer-accounts.js";
import { isScope } from "./stores/scopes.js";
import { type Rotation, rotations } from "./tokens/grant.js";
import type { ApiRateLimit } from "./traffic/rate-limiter.js";

/** Options of the sandbox; all have defaults. */
export interface SandboxOptions {
  /** Port to listen on, on 127.0.0.1. Default 0: any free one. */
  port?: number | undefined;
  /**
   * R4: whether a refresh answers with a new refresh token. `"sometimes"`: every other time, starting with the first.
   * Default `"always"`.
   */
  rotation?: Rotation | undefined;
  /** How long access tokens live, in milliseconds, at least 1000. Default 86_400_000 (24 hours, R6). */
  lifetimeMs?: number | undefined;
  /**
   * Whether a refresh is answered 400 (`invalid_grant`) while the access token lives; the refresh token stays good.
   * Section 3 of the specification shows a refresh of an expired token only. Default false.
   */
  refusesEarly?: boolean | undefined;
  /** Token requests a store may receive in one window; windows are per store. Default 300 in 300_000 ms. */
  rateLimit?:
    | {
        /** How many. */
        limit: number;
        /** How long a window is, milliseconds. */
        windowMs: number;
      }
    | undefined;
  /** A limit of the API, per store, beside that of the token endpoint. Default: none (section 8 shows none). */
  apiRateLimit?: ApiRateLimit | undefined;
  /**
   * A host for each store, as in life: `{base_url}` is `http://{domain_prefix}.localhost:<port>` instead of a path
   * below 127.0.0.1. Not every machine resolves these names: browsers do. Default false.
   */
  hostPerStore?: boolean | undefined;
  /**
   * Serves https. `true`: with a certificate that is made at start, for 127.0.0.1, localhost and, with `hostPerStore`,
   * each store's host; `certificate` of the running sandbox is what clients have to trust. Or with what `node:tls`
   * takes: at least `key` and `cert`. Default: plain http.
   */
  tls?: true | TlsOptions | undefined;
  /**
   * The scopes that there are, like `["products:read", "sales:read"]`. A login then has to name at least one of them,
   * or it is answered `access_denied`; a call beyond the granted ones is a 403. Default: none, as the specification has
   * it (R1), and what a login names is ignored.
   */
  scopes?: readonly string[] | undefined;
  /** Whether the application is approved. Default false: it can be connected to at most 30 stores (section 8). */
  approved?: boolean | undefined;
  /** The time, in epoch milliseconds. Default `Date.now`; `virtualClock()` makes one that tests can move. */
  clock?: (() => number) | undefined;
  /**
   * The application's registered callback address, compared letter by letter. Default
   * `http://localhost:3000/auth/retail-pos/callback`.
   */
  redirectUri?: string | undefined;
  /** Default `sandbox-application`. */
  clientId?: string | undefined;
  /** Default `sandbox-application-secret`. */
  clientSecret?: string | undefined;
  /** The stores there are: your own, or how many, 1 to 1000. Default: six of different trades. */
  stores?: readonly NamedStore[] | number | undefined;
}

/** What may be left out altogether. */
type Absent = "tls" | "apiRateLimit";

/** The others, each with a value. */
type Filled = {
  [name in Exclude<keyof SandboxOptions, Absent>]-?: Exclude<SandboxOptions[name], undefined>;
};

export interface Settings extends Filled {
  readonly tls: true | TlsOptions | undefined;
  readonly apiRateLimit: Required<ApiRateLimit> | undefined;
  readonly stores: readonly NamedStore[];
}

export const demoApplication = {
  clientId: "sandbox-application",
  clientSecret: "sandbox-application-secret",
  redirectUri: "http://localhost:3000/auth/retail-pos/callback",
} as const;

/**
 * The limit is far above what a client needs that asks once per expiry (section 8), and low enough to be met by a test.
 */
const defaults: Settings = {
  ...demoApplication,
  port: 0,
  rotation: "always",
  lifetimeMs: 86_400_000,
  refusesEarly: false,
  rateLimit: { limit: 300, windowMs: 300_000 },
  apiRateLimit: undefined,
  hostPerStore: false,
  tls: undefined,
  scopes: [],
  approved: false,
  clock: Date.now,
  stores: demoRetailers(6),
};

/** Fills in the defaults. Throws a TypeError naming the first option that makes no sense. */
export function readOptions(options: SandboxOptions): Settings {
  if (typeof options !== "object" || options === null) throw new TypeError("options must be an object");
  for (const name of Object.keys(options)) {
    if (!Object.hasOwn(defaults, name)) throw new TypeError(`${name} is not an option of startSandbox`);
  }
  // An `undefined` would otherwise take the default's place.
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  const settings: Given = { ...defaults, ...given };
  checkService(settings);
  checkAddress(settings);
  checkApplication(settings);
  return {
    ...settings,
    tls: settings.tls,
    rateLimit: { ...settings.rateLimit },
    apiRateLimit: readApiRateLimit(settings.apiRateLimit),
    scopes: readScopeNames(settings.scopes),
    stores: readStores(settings.stores),
  };
}

/** The defaults filled in, and nothing checked yet. */
type Given = Filled & Pick<SandboxOptions, Absent>;

function checkAddress({ port, hostPerStore, tls }: Given): void {
  check("port", isWhole(port) && port >= 0 && port <= 65_535, "a whole number from 0 to 65535");
  check("hostPerStore", typeof hostPerStore === "boolean", "true or false");
  const isTls = typeof tls === "object" && tls !== null && "key" in tls && "cert" in tls;
  check("tls", tls === undefined || tls === true || isTls, "true, or what node:tls takes, with key and cert");
}

function checkService(given: Given): void {
  const { rotation, lifetimeMs, refusesEarly, rateLimit, approved, clock } = given;
  check("rotation", rotations.includes(rotation), '"always", "never" or "sometimes"');
  check(
    "lifetimeMs",
    isWhole(lifetimeMs) && lifetimeMs >= 1000,
    "a whole number of milliseconds, at least 1000",
  );
  check("refusesEarly", typeof refusesEarly === "boolean", "true or false");
  checkRateLimit("rateLimit", rateLimit);
  check("approved", typeof approved === "boolean", "true or false");
  check("clock", typeof clock === "function", "a function that returns epoch milliseconds");
}

function checkRateLimit(option: string, value: { limit: number; windowMs: number }): void {
  check(option, typeof value === "object" && value !== null, "{ limit, windowMs }");
  check(`${option}.limit`, isWhole(value.limit) && value.limit >= 1, "a whole number, at least 1");
  check(
    `${option}.windowMs`,
    isWhole(value.windowMs) && value.windowMs >= 1,
    "a whole number of milliseconds",
  );
}

function readApiRateLimit(value: ApiRateLimit | undefined): Settings["apiRateLimit"] {
  if (value === undefined) return undefined;
  checkRateLimit("apiRateLimit", value);
  const { limit, windowMs, retryAfter = "seconds", headers = true } = value;
  const isKnown = ["seconds", "date", "none"].includes(retryAfter);
  check("apiRateLimit.retryAfter", isKnown, '"seconds", "date" or "none"');
  check("apiRateLimit.headers", typeof headers === "boolean", "true or false");
  return { limit, windowMs, retryAfter, headers };
}

function checkApplication({ clientId, clientSecret, redirectUri }: Given): void {
  check("clientId", isText(clientId), "a string that is not empty");
  check("clientSecret", isText(clientSecret), "a string that is not empty");
  check(
    "redirectUri",
    isText(redirectUri) && isCallbackAddress(redirectUri),
    "an absolute http(s) URL without a fragment",
  );
}

function readScopeNames(scopes: readonly string[]): readonly string[] {
  check("scopes", Array.isArray(scopes), 'a list like ["products:read", "sales:read"]');
  check("scopes", scopes.every(isScope), "given printable texts without spaces, quotes and backslashes");
  check("scopes", new Set(scopes).size === scopes.length, "given each once");
  return [...scopes];
}

function readStores(stores: readonly NamedStore[] | number): readonly NamedStore[] {
  if (typeof stores === "number") {
    check("stores", isWhole(stores) && stores >= 1 && stores <= 1000, "a number from 1 to 1000, or a list");
    return demoRetailers(stores);
  }
  check(
    "stores",
    Array.isArray(stores) && stores.length > 0,
    "a number, or a list of { domainPrefix, name }",
  );
  for (const store of stores) {
    check("stores", isDomainPrefix(store?.domainPrefix), "given lower-case DNS labels as domainPrefix");
    check("stores", isText(store.name), "given a name each");
  }
  const distinct = new Set(stores.map((store) => store.domainPrefix));
  check("stores", distinct.size === stores.length, "given a different domainPrefix each");
  return stores.map(({ domainPrefix, name }) => ({ domainPrefix, name }));
}

function check(option: string, holds: boolean, shape: string): void {
  if (!holds) throw new TypeError(`${option} must be ${shape}`);
}

const isWhole = (value: unknown): boolean => Number.isSafeInteger(value);
const isText = (value: unknown): boolean => typeof value === "string" && value.length > 0;

/** RFC 6749 3.1.2: absolute, and no fragment. */
function isCallbackAddress(text: string): boolean {
  if (!URL.canParse(text) || text.includes("#")) return false;
  return ["http:", "https:"].includes(new URL(text).protocol);
}
