import type { Call } from "./call-facts.js";
import { closedError } from "./errors.js";
import { Host } from "./host.js";

export interface HostsOptions {
  readonly perHost: number;
  readonly wait429Ms: number;
}

/** The hosts that are called now, and those whose rate limit has to be remembered; no others. */
export class Hosts {
  readonly #options: HostsOptions;
  readonly #byOrigin = new Map<string, Host>();

  constructor(options: HostsOptions) {
    this.#options = options;
  }

  of({ origin, host: name }: Call): Host {
    const known = this.#byOrigin.get(origin);
    if (known) return known;
    const onIdle = () => void this.#byOrigin.delete(origin);
    const host = new Host({ name, ...this.#options, onIdle });
    this.#byOrigin.set(origin, host);
    return host;
  }

  /** Everybody who waits is told that there is no waiting any more. */
  dismiss(): void {
    for (const host of this.#byOrigin.values()) host.dismiss(closedError(host.name));
  }
}
