import type { TlsOptions } from "node:tls";
import { demoRetailers, type NamedStore } from "./stores/demo-retailers.js";
import { isDomainPrefix } from "./stores/retailer-accounts.js";
import { isScope } from "./stores/scopes.js";
import { type Rotation, rotations } from "./tokens/issued-tokens.js";
import type { RateLimit } from "./traffic/rate-limiter.js";

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
  rateLimit?: RateLimit | undefined;
  /**
   * API calls a store may receive in one window, beside its token requests. Default: no limit (section 8 shows none).
   */
  apiRateLimit?: RateLimit | undefined;
  /**
   * A host for each store, as in life: `{base_url}` is `http://{domain_prefix}.localhost:<port>` instead of a path
   * below 127.0.0.1. Not every machine resolves these names: browsers do. Default false.
   */
  hostPerStore?: boolean | undefined;
  /** Serves https with what `node:tls` takes: at least `key` and `cert`. Default: plain http. */
  tls?: TlsOptions | undefined;
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
  /** How many products each store has, 0 to 1000. Default: the six or seven of its trade. */
  products?: number | undefined;
}

type Given = { [name in keyof SandboxOptions]-?: Exclude<SandboxOptions[name], undefined> };
/** They have no value by default. */
type Optional = "apiRateLimit" | "tls" | "products";

/** The options with their defaults filled in. */
export interface Settings extends Omit<Given, Optional | "stores">, Pick<SandboxOptions, Optional> {
  readonly stores: readonly NamedStore[];
}

/** The rate limit is far above what a client needs that asks once per expiry (section 8), and low enough for a test. */
export const defaults: Omit<Settings, Optional | "stores"> & Pick<Given, "stores"> = {
  port: 0,
  rotation: "always",
  lifetimeMs: 86_400_000,
  refusesEarly: false,
  rateLimit: { limit: 300, windowMs: 300_000 },
  hostPerStore: false,
  scopes: [],
  approved: false,
  clock: Date.now,
  redirectUri: "http://localhost:3000/auth/retail-pos/callback",
  clientId: "sandbox-application",
  clientSecret: "sandbox-application-secret",
  stores: 6,
};

/** What an option may be, and its flag on the command line. */
interface Option<T> {
  /** Completes the sentence "The option must be ...". */
  readonly shape: string;
  /** The value may be anything: TypeScript is not what callers use alone. */
  readonly holds: (value: T) => boolean;
  /** For `--help`; absent: the command line does not have it. */
  readonly help?: string;
  /** What stands behind the flag; absent: nothing, and the value is true. */
  readonly usage?: string;
  /** The value of that text, undefined if it cannot be read. Default: the text itself. */
  readonly parse?: (text: string) => T | undefined;
}

const isWhole = (value: unknown, least: number, most = Number.MAX_SAFE_INTEGER): boolean =>
  Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= most;
const isText = (value: unknown): boolean => typeof value === "string" && value.length > 0;
const areDifferent = (values: readonly unknown[]): boolean => new Set(values).size === values.length;
const readWhole = (text: string): number | undefined => (/^\d{1,9}$/.test(text) ? Number(text) : undefined);

const whole = (least: number, most: number): Option<number> => ({
  shape: `a whole number from ${least} to ${most}`,
  holds: (value) => isWhole(value, least, most),
  usage: "<number>",
  parse: readWhole,
});
const yesOrNo: Option<boolean> = { shape: "true or false", holds: (value) => typeof value === "boolean" };
const text: Option<string> = { shape: "a string that is not empty", holds: isText, usage: "<text>" };
const rateLimit: Option<RateLimit> = {
  shape: "{ limit, windowMs }, two whole numbers, at least 1",
  holds: (value) => isWhole(value?.limit, 1) && isWhole(value?.windowMs, 1),
  usage: "<n/seconds>",
  parse(given) {
    const [, limit, seconds] = /^(\d{1,9})\/(\d{1,9})$/.exec(given) ?? [];
    return limit && seconds ? { limit: Number(limit), windowMs: Number(seconds) * 1000 } : undefined;
  },
};

const areStores = (list: readonly NamedStore[]): boolean =>
  list.length > 0 &&
  list.every((store) => isDomainPrefix(store?.domainPrefix) && isText(store.name)) &&
  areDifferent(list.map(({ domainPrefix }) => domainPrefix));

/** Every option, in the order of `--help`. */
export const schema: { readonly [name in keyof Given]: Option<Given[name]> } = {
  port: { ...whole(0, 65_535), help: "port to listen on, 0 for any (default 4010)" },
  rotation: {
    shape: '"always", "never" or "sometimes"',
    holds: (value) => rotations.includes(value),
    usage: "<how>",
    help: "refresh tokens rotate: always (default), never, sometimes",
  },
  lifetimeMs: {
    shape: "a whole number of milliseconds, at least 1000",
    holds: (value) => isWhole(value, 1000),
    usage: "<seconds>",
    parse: (given) => readWhole(given) && Number(given) * 1000,
    help: "how long access tokens live (default 86400)",
  },
  refusesEarly: { ...yesOrNo, help: "refuse a refresh while the access token lives" },
  rateLimit: { ...rateLimit, help: "token requests per store and window (default 300/300)" },
  apiRateLimit: { ...rateLimit, help: "API calls per store and window (default no limit)" },
  hostPerStore: { ...yesOrNo, help: "a host for each store: {domain_prefix}.localhost" },
  tls: {
    shape: "what node:tls takes, with key and cert",
    holds: (value) => typeof value === "object" && value !== null && "key" in value && "cert" in value,
  },
  scopes: {
    shape: "a list of different texts without spaces, quotes and backslashes",
    holds: (value) => Array.isArray(value) && value.every(isScope) && areDifferent(value),
    usage: "<list>",
    parse: (given) => given.split(/[ ,]+/).filter(Boolean),
    help: 'scopes there are, like "products:read sales:read"',
  },
  approved: { ...yesOrNo, help: "the application is approved: no limit of 30 stores" },
  clock: {
    shape: "a function that returns epoch milliseconds",
    holds: (value) => typeof value === "function",
  },
  stores: {
    shape: "a number from 1 to 1000, or a list of { domainPrefix, name }, each with a DNS label of its own",
    holds: (value) => (Array.isArray(value) ? areStores(value) : isWhole(value, 1, 1000)),
    usage: "<number>",
    parse: readWhole,
    help: "how many stores there are, 1 to 1000 (default 6)",
  },
  products: { ...whole(0, 1000), help: "how many products each store has, 0 to 1000 (default 6 or 7)" },
  redirectUri: {
    shape: "an absolute http(s) URL without a fragment", // RFC 6749 3.1.2
    holds: (value) => isText(value) && /^https?:[^#]*$/i.test(value) && URL.canParse(value),
    usage: "<url>",
    help: "where logins come back",
  },
  clientId: { ...text, help: "(default sandbox-application)" },
  clientSecret: { ...text, help: "(default sandbox-application-secret)" },
};

/** Fills in the defaults. Throws a TypeError naming the first option that makes no sense. */
export function readOptions(options: SandboxOptions): Settings {
  if (typeof options !== "object" || options === null) throw new TypeError("options must be an object");
  const known = schema as Readonly<Record<string, Option<unknown>>>;
  for (const [name, value] of Object.entries(options)) {
    const option = Object.hasOwn(known, name) && known[name];
    if (!option) throw new TypeError(`${name} is not an option of startSandbox`);
    if (value !== undefined && !option.holds(value)) throw new TypeError(`${name} must be ${option.shape}`);
  }
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  const settings: typeof defaults = { ...defaults, ...Object.fromEntries(given) };
  const { stores } = settings;
  return { ...settings, stores: typeof stores === "number" ? demoRetailers(stores) : stores };
}
