import { staysOpen } from "./closing-answer.js";
import { Connection } from "./connection.js";
import type { Connections, DispatchOptions, Handler } from "./dispatcher.js";
import { fail, watch } from "./watch.js";

/** Token requests have connections of their own, so that no call of the API stands before one. */
export type Kind = "api" | "token";

export interface HostPoolsOptions {
  readonly perHost: number;
  readonly keepAliveMs: number;
  readonly idleConnections: number;
}

interface HostPool {
  readonly key: string;
  readonly origin: string;
  readonly most: number;
  readonly connections: Set<Connection>;
  /** Those that the next requests take, the one used last at the end. */
  readonly free: Connection[];
  /** How many of them are free in the next turn of the event loop: their answer ended in this one. */
  resting: number;
  /**
   * Requests without a connection, in their order. A call has a place in its host's turn; but a redirect brings
   * requests that have none, and one that follows right after an answer waits for that connection to be free.
   */
  waiting: Set<HostRequest>;
  /** Those that wait, and those that have a connection. */
  underWay: number;
}

interface HostRequest {
  readonly host: HostPool;
  readonly options: DispatchOptions;
  readonly handler: Handler;
  connection?: Connection;
  /** Whether the connection had served another request before. */
  isReused: boolean;
  /** Whether something of it may have been sent. */
  isBegun: boolean;
  isAbandoned: boolean;
}

/**
 * The connections to every host, in one pool for each host and kind. A pool is dropped with its last connection, so
 * that nothing is kept of a host that is not called any more; and so is the pool used longest ago, if idle hosts
 * together keep more connections than they may.
 */
export class HostPools {
  readonly #options: HostPoolsOptions;
  readonly #pools = new Map<string, HostPool>();
  readonly #requests = new Map<DispatchOptions, HostRequest>();
  /** Pools without a request under way, the one used longest ago first. */
  readonly #idle = new Set<HostPool>();
  #idleConnections = 0;
  #mostIdle: number;
  readonly #ending = new Set<Promise<void>>();

  constructor(options: HostPoolsOptions) {
    this.#options = options;
    this.#mostIdle = options.idleConnections;
  }

  of(kind: Kind): Connections {
    return {
      dispatch: (options, handler) => this.#dispatch(kind, options, handler),
      abandon: (options) => this.#abandon(options),
    };
  }

  /** Resolves once all connections are closed. Those that are in use are closed as well. */
  async close(): Promise<void> {
    this.#mostIdle = 0; // for a call that began at this moment
    for (const host of this.#pools.values()) this.#dropPool(host);
    await Promise.all(this.#ending);
  }

  #dispatch(kind: Kind, options: DispatchOptions, handler: Handler): boolean {
    const host = this.#poolOf(kind, String(options.origin));
    if (this.#idle.delete(host)) this.#idleConnections -= host.connections.size;
    host.underWay += 1;
    const request = { host, options, handler, isReused: false, isBegun: false, isAbandoned: false };
    this.#requests.set(options, request);
    this.#watch(request);
    host.waiting.add(request);
    this.#serve(host);
    return true;
  }

  #watch(request: HostRequest): void {
    let mustNotWait = false;
    watch(request.handler, {
      begun() {
        request.isBegun = true;
      },
      head(_status, headers) {
        mustNotWait = !staysOpen(headers());
      },
      readsOn: () => mustNotWait,
      takesBack: () => this.#takeBack(request),
      over: (hasFailed) => this.#over(request, hasFailed),
    });
  }

  /** Nobody waits for this request any more. Once it is sent, `fetch` ends it itself. */
  #abandon(options: DispatchOptions): void {
    const request = this.#requests.get(options);
    if (!request) return;
    const { host, handler, connection } = request;
    request.isAbandoned = true;
    if (host.waiting.delete(request)) fail(handler, new Error("Nobody waits for this request any more"));
    else if (connection?.isBeingMade) this.#drop(host, connection);
  }

  /** A host may have closed a kept connection, which is seen only when the next request is about to be sent on it. */
  #takeBack(request: HostRequest): boolean {
    const { host, connection, isReused, isBegun, isAbandoned } = request;
    if (!connection || !isReused || isBegun || isAbandoned) return false;
    const isOurs = host.connections.has(connection); // else it was ended here
    if (!isOurs || connection.isSending) return false;
    host.waiting = new Set([request, ...host.waiting]);
    this.#drop(host, connection);
    return true;
  }

  #poolOf(kind: Kind, origin: string): HostPool {
    const key = `${kind} ${origin}`;
    const known = this.#pools.get(key);
    if (known) return known;
    const host: HostPool = {
      key,
      origin,
      most: kind === "api" ? this.#options.perHost : Number.POSITIVE_INFINITY,
      connections: new Set(),
      free: [],
      resting: 0,
      waiting: new Set(),
      underWay: 0,
    };
    this.#pools.set(key, host);
    return host;
  }

  #serve(host: HostPool): void {
    for (;;) {
      const [request] = host.waiting; // looked up each time: sending one may change them
      if (!request) return;
      const free = this.#freeConnection(host);
      const connection = free ?? this.#newConnection(host);
      if (!connection) return;
      host.waiting.delete(request);
      request.connection = connection;
      request.isReused = free !== undefined;
      connection.send(request.options, request.handler);
    }
  }

  #freeConnection(host: HostPool): Connection | undefined {
    for (;;) {
      const connection = host.free.pop();
      if (!connection || connection.isOpen) return connection;
      this.#forget(host, connection);
    }
  }

  #newConnection(host: HostPool): Connection | undefined {
    if (host.resting > 0 || host.connections.size >= host.most) return undefined;
    const connection: Connection = new Connection({
      origin: host.origin,
      keepAliveMs: this.#options.keepAliveMs,
      onGone: () => this.#drop(host, connection),
    });
    host.connections.add(connection);
    return connection;
  }

  #over(request: HostRequest, hasFailed: boolean): void {
    const { host, options, connection } = request;
    if (!this.#requests.delete(options)) return; // told before
    host.underWay -= 1;
    if (connection) {
      const isGood = !hasFailed || connection.isSending;
      if (isGood && connection.isOpen && this.#options.keepAliveMs > 0) this.#rest(host, connection);
      else this.#drop(host, connection);
    }
    if (host.underWay > 0 || this.#pools.get(host.key) !== host) return;
    this.#idle.add(host);
    this.#idleConnections += host.connections.size;
    this.#dropUnused(host);
    setImmediate(() => this.#dropSurplus()); // the next call of this host may be about to come
  }

  /** A host may close a connection right after an answer, whatever it says; that is seen in the next turn. */
  #rest(host: HostPool, connection: Connection): void {
    host.resting += 1;
    setImmediate(() => {
      host.resting -= 1;
      if (host.connections.has(connection)) host.free.push(connection);
      this.#serve(host);
    });
  }

  #drop(host: HostPool, connection: Connection): void {
    this.#forget(host, connection);
    this.#dropUnused(host);
    this.#serve(host);
  }

  #forget(host: HostPool, connection: Connection): void {
    if (!host.connections.delete(connection)) return;
    const at = host.free.indexOf(connection);
    if (at >= 0) host.free.splice(at, 1);
    if (this.#idle.has(host)) this.#idleConnections -= 1;
    this.#end(connection);
  }

  #dropUnused(host: HostPool): void {
    if (this.#idle.has(host) && host.connections.size === 0) this.#dropPool(host);
  }

  #dropSurplus(): void {
    for (const host of this.#idle) {
      if (this.#idleConnections <= this.#mostIdle) return;
      this.#dropPool(host);
    }
  }

  /** Whoever calls this host from now on gets a new pool. */
  #dropPool(host: HostPool): void {
    this.#pools.delete(host.key);
    if (this.#idle.delete(host)) this.#idleConnections -= host.connections.size;
    const connections = [...host.connections];
    host.connections.clear();
    for (const connection of connections) this.#end(connection);
  }

  /** A little later: undici tells of the end of a request in the midst of its work. */
  #end(connection: Connection): void {
    const ending: Promise<void> = Promise.resolve()
      .then(() => connection.end())
      .finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  }
}
