import type { Dispatcher, Pool } from "undici";
import { whenOver } from "./connection-in-use.js";
import type { Connections, DispatchOptions, Handler } from "./dispatcher.js";
import { poolOfClients } from "./host-client.js";

/** Token requests have connections of their own, so that no call of the API stands before one. */
export type Kind = "api" | "token";

export interface HostPoolsOptions {
  readonly perHost: number;
  readonly keepAliveMs: number;
  readonly idleConnections: number;
}

interface HostPool {
  readonly key: string;
  readonly pool: Pool;
  underWay: number;
  /** How many of them undici has. */
  sent: number;
  /**
   * The others, as a redirect brings them: it does not wait for its host's turn. undici's pool has a queue, but forgets
   * it if a connection cannot be made, or serves it by a connection that the pool no longer counts.
   */
  readonly waiting: (() => void)[];
  connected: number;
  /** Connections whose answer ended in this turn of the event loop: undici uses them again in the next. */
  resting: number;
  /** Requests that wait for that turn: for one of those connections, or behind such a request. */
  deferred: number;
}

/**
 * The connections to every host, one undici `Pool` for each host and kind. A pool is dropped with its last connection,
 * so that nothing is kept of a host that is not called any more; and so is the pool used longest ago, if idle hosts
 * together keep more connections than they may.
 */
export class HostPools {
  readonly #options: HostPoolsOptions;
  readonly #pools = new Map<string, HostPool>();
  /** Those without a request under way, the one used longest ago first. */
  readonly #idle = new Set<HostPool>();
  #idleConnections = 0;
  #mostIdle: number;

  constructor(options: HostPoolsOptions) {
    this.#options = options;
    this.#mostIdle = options.idleConnections;
  }

  of(kind: Kind): Connections {
    return { dispatch: (options, handler) => this.#dispatch(kind, options, handler) };
  }

  /** Waits for what is under way. */
  async close(): Promise<void> {
    this.#mostIdle = 0; // for a call that began at this moment
    const pools = [...this.#pools.values()];
    for (const host of pools) this.#forget(host);
    await Promise.all(pools.map(({ pool }) => pool.close()));
  }

  #dispatch(kind: Kind, options: DispatchOptions, handler: Handler): boolean {
    const host = this.#poolOf(kind, String(options.origin));
    if (this.#idle.delete(host)) this.#idleConnections -= host.connected;
    host.underWay += 1;
    // It knows both shapes of a handler; its types know one.
    const watched = whenOver(handler, () => this.#over(host)) as Dispatcher.DispatchHandler;
    const send = () => host.pool.dispatch(options as Dispatcher.DispatchOptions, watched);
    if (kind === "token" || host.sent < this.#options.perHost) this.#send(host, send);
    else host.waiting.push(send);
    return true;
  }

  #send(host: HostPool, send: () => void): void {
    host.sent += 1;
    if (host.resting === 0 && host.deferred === 0) return void send();
    // A call right after another one would open a second connection; and those that follow stay behind it.
    host.deferred += 1;
    setImmediate(() => {
      host.deferred -= 1;
      send();
    });
  }

  #poolOf(kind: Kind, origin: string): HostPool {
    const key = `${kind} ${origin}`;
    const known = this.#pools.get(key);
    if (known) return known;
    const host: HostPool = {
      key,
      pool: this.#newPool(kind, origin),
      underWay: 0,
      sent: 0,
      waiting: [],
      connected: 0,
      resting: 0,
      deferred: 0,
    };
    host.pool.on("connect", () => this.#connected(host, 1));
    host.pool.on("disconnect", () => this.#connected(host, -1));
    host.pool.on("connectionError", () => this.#dropUnused(host));
    this.#pools.set(key, host);
    return host;
  }

  #newPool(kind: Kind, origin: string): Pool {
    const { perHost, keepAliveMs } = this.#options;
    const kept =
      keepAliveMs > 0
        ? { keepAliveTimeout: keepAliveMs, keepAliveMaxTimeout: keepAliveMs }
        : { pipelining: 0 };
    return poolOfClients(origin, { connections: kind === "api" ? perHost : null, ...kept });
  }

  #over(host: HostPool): void {
    host.underWay -= 1;
    host.sent -= 1;
    host.resting += 1;
    setImmediate(() => {
      host.resting -= 1;
    });
    const next = host.waiting.shift();
    if (next) this.#send(host, next);
    if (host.underWay > 0 || this.#pools.get(host.key) !== host) return;
    this.#idle.add(host);
    this.#idleConnections += host.connected;
    this.#dropUnused(host);
    this.#dropSurplus();
  }

  #connected(host: HostPool, change: 1 | -1): void {
    host.connected += change;
    if (this.#idle.has(host)) this.#idleConnections += change;
    this.#dropUnused(host);
    this.#dropSurplus();
  }

  #dropUnused(host: HostPool): void {
    if (this.#idle.has(host) && host.connected === 0) this.#drop(host);
  }

  #dropSurplus(): void {
    for (const host of this.#idle) {
      if (this.#idleConnections <= this.#mostIdle) return;
      this.#drop(host);
    }
  }

  #drop(host: HostPool): void {
    this.#forget(host);
    void host.pool.close();
  }

  /** Before it is closed: whoever calls this host in between gets a new pool. */
  #forget(host: HostPool): void {
    this.#pools.delete(host.key);
    if (this.#idle.delete(host)) this.#idleConnections -= host.connected;
  }
}
