import { refuseMisspelt } from "@retail-pos/core/authoring";

/** How many connections there are, how long they are kept, and whether a 429 is waited out. */
export interface RetailFetchOptions {
  /** Calls to one host at a time, and so connections; token requests come on top. At least 1; default 8. */
  perHost?: number | undefined;
  /**
   * How long a connection that nobody uses is kept, in milliseconds; default 10_000. Less if the host itself
   * announces less (`Keep-Alive: timeout=5`). 0: each call has a connection of its own.
   */
  keepAliveMs?: number | undefined;
  /**
   * How long one GET, HEAD or OPTIONS may wait in all until its host may be asked again, in milliseconds; default 0: a
   * 429 is returned. A call that would have to wait for longer does not wait at all.
   */
  wait429Ms?: number | undefined;
}

export type Settings = { readonly [name in keyof RetailFetchOptions]-?: number };

/** Longer timers fire at once. */
const LONGEST_TIMER_MS: number = 2 ** 31 - 1;

const OPTIONS: Record<keyof Settings, { byDefault: number; least: number; most: number }> = {
  perHost: { byDefault: 8, least: 1, most: Number.MAX_SAFE_INTEGER },
  keepAliveMs: { byDefault: 10_000, least: 0, most: LONGEST_TIMER_MS },
  wait429Ms: { byDefault: 0, least: 0, most: LONGEST_TIMER_MS },
};

/** @throws {TypeError} naming the option that is wrong, or that there is none of this name. */
export function readOptions(options: RetailFetchOptions): Settings {
  const given: unknown = options; // `fetch: retailFetch`, without its brackets, would be called with an address
  if (typeof given === "string" || given instanceof URL || given instanceof Request)
    throw new TypeError("retailFetch() makes a fetch: call it once, then call what it returned");
  if (Array.isArray(options)) throw new TypeError("options must be an object");
  const aliases = { keepalive: "keepAliveMs", connections: "perHost", maxConnections: "perHost" };
  refuseMisspelt(options, Object.keys(OPTIONS), aliases);
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(OPTIONS, name));
  if (unknown !== undefined) throw new TypeError(`${unknown} is not an option of retailFetch`);
  return { perHost: read("perHost"), keepAliveMs: read("keepAliveMs"), wait429Ms: read("wait429Ms") };

  function read(name: keyof Settings): number {
    const { byDefault, least, most } = OPTIONS[name];
    const value = options[name] === undefined ? byDefault : options[name];
    if (Number.isSafeInteger(value) && value >= least && value <= most) return value;
    const bound = most === Number.MAX_SAFE_INTEGER ? `, at least ${least}` : ` from ${least} to ${most}`;
    const given = value === null || typeof value === "number" ? value : typeof value;
    throw new TypeError(`${name} must be a whole number${bound}; ${given} was given`);
  }
}
