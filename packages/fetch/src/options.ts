import { refuseMisspelt } from "@retail-pos/core";

/** How many connections there are, how long they are kept, and whether a 429 is waited out. */
export interface RetailFetchOptions {
  /** Connections to one host at a time, those of token requests not counted. At least 1; default 8. */
  perHost?: number | undefined;
  /**
   * How long a connection that nobody uses is kept, in milliseconds; default 60_000. Less if the host itself
   * announces less (`Keep-Alive: timeout=5`). 0: each call has a connection of its own.
   */
  keepAliveMs?: number | undefined;
  /**
   * How long one GET, HEAD or OPTIONS may wait in all until its host may be asked again, in milliseconds; default 0: a
   * 429 is returned. A call that would have to wait for longer does not wait at all.
   */
  wait429Ms?: number | undefined;
  /**
   * Connections kept for hosts to which no call is under way, over all hosts; default 128. Beyond it the host that
   * was called longest ago loses its own. Each costs about 7 kB of heap without TLS, and a file descriptor.
   */
  idleConnections?: number | undefined;
}

export type Settings = { readonly [name in keyof RetailFetchOptions]-?: number };

/** Longer timers fire at once. */
export const LONGEST_TIMER_MS: number = 2 ** 31 - 1;

const OPTIONS: Record<keyof Settings, { byDefault: number; least: number; most: number }> = {
  perHost: { byDefault: 8, least: 1, most: Number.MAX_SAFE_INTEGER },
  keepAliveMs: { byDefault: 60_000, least: 0, most: LONGEST_TIMER_MS },
  wait429Ms: { byDefault: 0, least: 0, most: LONGEST_TIMER_MS },
  idleConnections: { byDefault: 128, least: 0, most: Number.MAX_SAFE_INTEGER },
};

/** @throws {TypeError} naming the option that is wrong, or that there is none of this name. */
export function readOptions(options: RetailFetchOptions): Settings {
  if (isCall(options))
    throw new TypeError("retailFetch() makes a fetch: call it once, then call what it returned");
  if (Array.isArray(options)) throw new TypeError("options must be an object");
  refuseMisspelt(options, Object.keys(OPTIONS), {
    keepalive: "keepAliveMs",
    connections: "perHost",
    maxConnections: "perHost",
  });
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(OPTIONS, name));
  if (unknown !== undefined) throw new TypeError(`${unknown} is not an option of retailFetch`);
  const read = (name: keyof Settings) => {
    const { byDefault, least, most } = OPTIONS[name];
    const value = options[name] ?? byDefault;
    if (Number.isSafeInteger(value) && value >= least && value <= most && options[name] !== null)
      return value;
    const bound = most === Number.MAX_SAFE_INTEGER ? `, at least ${least}` : ` from ${least} to ${most}`;
    const given = typeof options[name] === "number" ? value : kindOf(options[name]);
    throw new TypeError(`${name} must be a whole number${bound}; ${given} was given`);
  };
  return {
    perHost: read("perHost"),
    keepAliveMs: read("keepAliveMs"),
    wait429Ms: read("wait429Ms"),
    idleConnections: read("idleConnections"),
  };
}

/** `fetch: retailFetch`, without its brackets, would be called so. */
function isCall(options: unknown): boolean {
  return typeof options === "string" || options instanceof URL || options instanceof Request;
}

function kindOf(value: unknown): string {
  return value === null ? "null" : typeof value;
}
