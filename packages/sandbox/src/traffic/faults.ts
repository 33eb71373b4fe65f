/**
 * The faults that can be asked for:
 *
 * | kind | what the client sees | was the work done? |
 * |---|---|---|
 * | a status, 400 to 599 | that status, with a short text | no |
 * | `"silence"` | no answer, ever; the connection stays open | no |
 * | `"reset"` | the connection is reset | no |
 * | `"html"` | 200 with a page of HTML, as from a hotel's Wi-Fi | no |
 * | `"redirect"` | 307 to `to` | no |
 * | `"half"` | half an answer, then the connection ends | yes |
 * | `"late"` | the answer, once `release()` is called | yes, at once |
 * | `"reset-after"` | the connection is reset | yes: a refresh token has been rotated and nobody heard |
 */
export type FaultKind = number | "silence" | "reset" | "html" | "redirect" | "half" | "late" | "reset-after";

/** Which requests a fault hits, and how often. */
export interface FaultOptions {
  /** Hits this store only. Default: all of them. */
  domainPrefix?: string;
  /** Default `"token"`. */
  endpoint?: "token" | "api";
  /** How many requests it hits; `Infinity` until cleared. Default 1. */
  times?: number;
  /**
   * Where `"redirect"` leads. Default: the sandbox's own `/trap` under the name `localhost`, which is another origin.
   */
  to?: string;
}

/** A fault that was asked for. */
export interface Fault {
  /** What goes wrong. */
  readonly kind: FaultKind;
  /** How many requests it has hit. */
  readonly hits: number;
  /** Resolves when it hits for the first time; for `"late"` the work is done by then. */
  readonly struck: Promise<void>;
  /** Lets every answer held by `"late"` go, and hits no more. */
  release(): void;
}

/** A fault as the endpoints see it. */
export interface ActiveFault extends Fault {
  readonly options: Readonly<FaultOptions>;
  readonly endpoint: "token" | "api";
  /** How many more requests it hits. */
  left: number;
  /** To be called for each request that it hits. */
  hit(): void;
  /** Resolves with `release()`. */
  readonly released: Promise<void>;
}

export interface Faults {
  add(kind: FaultKind, options: FaultOptions): Fault;
  /** The oldest fault waiting for such a request, counted down by one. */
  take(endpoint: string, domainPrefix: string): ActiveFault | undefined;
  /** The faults of this store, or with no store every one; held answers go. */
  clear(domainPrefix?: string): void;
  /** The faults that would still hit this store. */
  waitingFor(domainPrefix: string): readonly ActiveFault[];
}

const namedKinds = ["silence", "reset", "html", "redirect", "half", "late", "reset-after"];

export function faultsOnDemand(): Faults {
  const known = new Set<ActiveFault>();
  const waitingFor = (domainPrefix: string) =>
    [...known].filter(
      ({ left, options }) => left > 0 && (options.domainPrefix ?? domainPrefix) === domainPrefix,
    );
  return {
    waitingFor,
    add(kind, options) {
      checkFault(kind, options);
      const fault = newFault(kind, options, () => known.delete(fault));
      known.add(fault);
      return fault;
    },
    take(endpoint, domainPrefix) {
      const found = waitingFor(domainPrefix).find((fault) => fault.endpoint === endpoint);
      if (found) found.left -= 1;
      // A spent fault is dropped, unless it holds answers that clear() has to let go.
      if (found?.left === 0 && found.kind !== "late") known.delete(found);
      return found;
    },
    clear(domainPrefix) {
      for (const fault of known) {
        if (domainPrefix === undefined || fault.options.domainPrefix === domainPrefix) fault.release();
      }
    },
  };
}

function newFault(kind: FaultKind, options: FaultOptions, forget: () => void): ActiveFault {
  const struck = signal();
  const released = signal();
  let hits = 0;
  return {
    kind,
    options: { ...options },
    endpoint: options.endpoint ?? "token",
    left: options.times ?? 1,
    get hits() {
      return hits;
    },
    struck: struck.given,
    released: released.given,
    hit() {
      hits += 1;
      struck.give();
    },
    release() {
      forget();
      released.give();
    },
  };
}

/** A promise with its `resolve`. `Promise.withResolvers` is newer than Node 20. */
function signal(): { given: Promise<void>; give: () => void } {
  let give = () => {};
  const given = new Promise<void>((resolve) => {
    give = resolve;
  });
  return { given, give };
}

function checkFault(kind: FaultKind, { endpoint, times, to }: FaultOptions): void {
  const isStatus = Number.isInteger(kind) && Number(kind) >= 400 && Number(kind) <= 599;
  if (!isStatus && !namedKinds.includes(String(kind))) {
    throw new TypeError(`kind must be a status from 400 to 599 or one of: ${namedKinds.join(", ")}`);
  }
  if (endpoint !== undefined && endpoint !== "token" && endpoint !== "api") {
    throw new TypeError('endpoint must be "token" or "api"');
  }
  const count = times ?? 1;
  if (count !== Number.POSITIVE_INFINITY && !(Number.isInteger(count) && count >= 1)) {
    throw new TypeError("times must be a whole number, at least 1, or Infinity");
  }
  if (to !== undefined && !URL.canParse(to)) throw new TypeError("to must be an absolute URL");
}
