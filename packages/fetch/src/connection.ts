import type { Duplex } from "node:stream";
import { buildConnector, Client, type Dispatcher } from "undici";
import type { DispatchOptions, Handler } from "./dispatcher.js";

/** What undici's connector returns, though its types do not say so. */
type Connect = (...what: Parameters<buildConnector.connector>) => Duplex;

/** One for all connections: it keeps TLS sessions, a hundred at most. */
const connect = buildConnector({}) as Connect;

export interface ConnectionOptions {
  readonly origin: string;
  /** How long it is kept unused, milliseconds. 0: for one request. */
  readonly keepAliveMs: number;
  /** Told once it is gone though nothing was under way: the host has closed it, or nobody used it for so long. */
  readonly onGone: () => void;
}

/**
 * One connection to a host, for one request at a time. It is made for its first request. Behind it is a `Client` of
 * undici's. That would connect again by itself, even for a request that was aborted. So it may connect once.
 */
export class Connection {
  readonly #client: Client;
  /** While the connection is being made. */
  #socket: Duplex | undefined;
  #isMade = false;
  #isSending = false;

  constructor({ origin, keepAliveMs, onGone }: ConnectionOptions) {
    this.#client = new Client(origin, {
      ...(keepAliveMs > 0
        ? { keepAliveTimeout: keepAliveMs, keepAliveMaxTimeout: keepAliveMs }
        : { pipelining: 0 }),
      connect: (to, told) => {
        if (this.#isMade) return told(new Error("The host closed the connection"), null);
        this.#isMade = true;
        this.#socket = connect(to, (...outcome) => {
          this.#socket = undefined;
          told(...outcome);
        });
      },
    });
    this.#client.on("disconnect", () => {
      const { size } = this.#client.stats;
      if (size === 0) onGone();
    });
  }

  /** Whether another request can be sent on it. */
  get isOpen(): boolean {
    return this.#client.stats.connected;
  }

  get isBeingMade(): boolean {
    return this.#socket !== undefined;
  }

  /** While {@link send} runs. A request that ends by then was refused, and not sent: the connection is as it was. */
  get isSending(): boolean {
    return this.#isSending;
  }

  send(request: DispatchOptions, handler: Handler): void {
    this.#isSending = true;
    try {
      // It knows both shapes of a handler; its types know one.
      this.#client.dispatch(request as Dispatcher.DispatchOptions, handler as Dispatcher.DispatchHandler);
    } finally {
      this.#isSending = false;
    }
  }

  /** Closes it, whatever is under way. Resolves once it is closed. */
  async end(): Promise<void> {
    const ended = this.#client.destroy();
    // undici would wait for a connection that is being made, for ten seconds.
    this.#socket?.destroy(new Error("Nobody waits for this connection any more"));
    await ended;
  }
}
