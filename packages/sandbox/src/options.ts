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

/** What an option may be. */
interface Kind<T> {
  /** Completes the sentence "The option must be ...". */
  readonly shape: string;
  /** The value may be anything: TypeScript is not what callers use alone. */
  readonly holds: (value: T) => boolean;
  /** What stands behind its flag on the command line; absent: nothing, and the value is true. */
  readonly usage?: string;
  /** The value of that text, undefined if it cannot be read. Default: the text itself. */
  readonly parse?: (text: string) => T | undefined;
}

const isWhole = (value: unknown, least: number, most = Number.MAX_SAFE_INTEGER): boolean =>
  Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= most;
const isText = (value: unknown): boolean => typeof value === "string" && value.length > 0;
const areDifferent = (values: readonly unknown[]): boolean => new Set(values).size === values.length;
const readWhole = (text: string): number | undefined => (/^\d{1,9}$/.test(text) ? Number(text) : undefined);
const readSeconds = (text: string): number | undefined => readWhole(text) && Number(text) * 1000;

const whole = (least: number, most: number): Kind<number> => ({
  shape: `a whole number from ${least} to ${most}`,
  holds: (value) => isWhole(value, least, most),
  usage: "<number>",
  parse: readWhole,
});

const lifetime: Kind<number> = {
  shape: "a whole number of milliseconds, at least 1000",
  holds: (value) => isWhole(value, 1000),
  usage: "<seconds>",
  parse: readSeconds,
};

const rateLimit: Kind<RateLimit> = {
  shape: "{ limit, windowMs }, two whole numbers, at least 1",
  holds: (value) => isWhole(value?.limit, 1) && isWhole(value?.windowMs, 1),
  usage: "<n/seconds>",
  parse: readRateLimit,
};

function readRateLimit(text: string): RateLimit | undefined {
  const [, limit, seconds] = /^(\d{1,9})\/(\d{1,9})$/.exec(text) ?? [];
  return limit && seconds ? { limit: Number(limit), windowMs: Number(seconds) * 1000 } : undefined;
}

const rotation: Kind<Rotation> = {
  shape: '"always", "never" or "sometimes"',
  holds: (value) => rotations.includes(value),
  usage: "<how>",
};

const yesOrNo: Kind<boolean> = { shape: "true or false", holds: (value) => typeof value === "boolean" };

const text: Kind<string> = {
  shape: "a string that is not empty",
  holds: isText,
  usage: "<text>",
};

const callbackAddress: Kind<string> = {
  shape: "an absolute http(s) URL without a fragment", // RFC 6749 3.1.2
  holds: (value) => isText(value) && /^https?:[^#]*$/i.test(value) && URL.canParse(value),
  usage: "<url>",
};

const scopeNames: Kind<readonly string[]> = {
  shape: "a list of different texts without spaces, quotes and backslashes",
  holds: (value) => Array.isArray(value) && value.every(isScope) && areDifferent(value),
  usage: "<list>",
  parse: (given) => given.split(/[ ,]+/).filter(Boolean),
};

const stores: Kind<readonly NamedStore[] | number> = {
  shape: "a number from 1 to 1000, or a list of { domainPrefix, name }, each with a DNS label of its own",
  holds: (value) => (Array.isArray(value) ? areStores(value) : isWhole(value, 1, 1000)),
  usage: "<number>",
  parse: readWhole,
};

const areStores = (list: readonly NamedStore[]): boolean =>
  list.length > 0 &&
  list.every((store) => isDomainPrefix(store?.domainPrefix) && isText(store.name)) &&
  areDifferent(list.map(({ domainPrefix }) => domainPrefix));

const tls: Kind<TlsOptions> = {
  shape: "what node:tls takes, with key and cert",
  holds: (value) => typeof value === "object" && value !== null && "key" in value && "cert" in value,
};

const clock: Kind<() => number> = {
  shape: "a function that returns epoch milliseconds",
  holds: (value) => typeof value === "function",
};

export const demoApplication = {
  clientId: "sandbox-application",
  clientSecret: "sandbox-application-secret",
  redirectUri: "http://localhost:3000/auth/retail-pos/callback",
} as const;

interface Option<T> {
  readonly kind: Kind<T>;
  readonly default?: T;
  /** For `--help`; absent: the command line does not have it. */
  readonly help?: string;
}

/**
 * Every option, in the order of `--help`. The rate limit is far above what a client needs that asks once per expiry
 * (section 8), and low enough to be met by a test.
 */
export const schema: { readonly [name in keyof Given]: Option<Given[name]> } = {
  port: { kind: whole(0, 65_535), default: 0, help: "port to listen on, 0 for any (default 4010)" },
  rotation: {
    kind: rotation,
    default: "always",
    help: "refresh tokens rotate: always (default), never, sometimes",
  },
  lifetimeMs: { kind: lifetime, default: 86_400_000, help: "how long access tokens live (default 86400)" },
  refusesEarly: { kind: yesOrNo, default: false, help: "refuse a refresh while the access token lives" },
  rateLimit: {
    kind: rateLimit,
    default: { limit: 300, windowMs: 300_000 },
    help: "token requests per store and window (default 300/300)",
  },
  apiRateLimit: { kind: rateLimit, help: "API calls per store and window (default no limit)" },
  hostPerStore: { kind: yesOrNo, default: false, help: "a host for each store: {domain_prefix}.localhost" },
  tls: { kind: tls },
  scopes: { kind: scopeNames, default: [], help: 'scopes there are, like "products:read sales:read"' },
  approved: { kind: yesOrNo, default: false, help: "the application is approved: no limit of 30 stores" },
  clock: { kind: clock, default: Date.now },
  stores: { kind: stores, default: 6, help: "how many stores there are, 1 to 1000 (default 6)" },
  products: { kind: whole(0, 1000), help: "how many products each store has, 0 to 1000 (default 6 or 7)" },
  redirectUri: {
    kind: callbackAddress,
    default: demoApplication.redirectUri,
    help: "where logins come back",
  },
  clientId: { kind: text, default: demoApplication.clientId, help: "(default sandbox-application)" },
  clientSecret: {
    kind: text,
    default: demoApplication.clientSecret,
    help: "(default sandbox-application-secret)",
  },
};

/** Fills in the defaults. Throws a TypeError naming the first option that makes no sense. */
export function readOptions(options: SandboxOptions): Settings {
  if (typeof options !== "object" || options === null) throw new TypeError("options must be an object");
  for (const name of Object.keys(options)) {
    if (!Object.hasOwn(schema, name)) throw new TypeError(`${name} is not an option of startSandbox`);
  }
  const given = options as Record<string, unknown>;
  const entries = Object.entries(schema as Record<string, Option<unknown>>).map(([name, option]) => {
    const value = given[name];
    if (value === undefined) return [name, option.default];
    if (!option.kind.holds(value)) throw new TypeError(`${name} must be ${option.kind.shape}`);
    return [name, value];
  });
  // Copies: the caller may change its own objects later.
  const settings = Object.fromEntries(entries) as Omit<Settings, "stores"> & Pick<Given, "stores">;
  return {
    ...settings,
    rateLimit: { ...settings.rateLimit },
    apiRateLimit: settings.apiRateLimit && { ...settings.apiRateLimit },
    scopes: [...settings.scopes],
    stores:
      typeof settings.stores === "number"
        ? demoRetailers(settings.stores)
        : settings.stores.map(({ domainPrefix, name }) => ({ domainPrefix, name })),
  };
}
