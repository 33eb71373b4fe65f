import type { Duplex } from "node:stream";
import { type buildConnector, Client, type Dispatcher, Pool } from "undici";
import type { DispatchOptions } from "./dispatcher.js";

/** What undici's connector returns, though its types do not say so. */
type Connect = (...what: Parameters<buildConnector.connector>) => Duplex;

const clients = new WeakMap<DispatchOptions, HostClient>();
const abandoned = new WeakSet<DispatchOptions>();

/** One connection of a host's pool. */
class HostClient extends Client {
  readonly #making: { socket?: Duplex | undefined };

  constructor(origin: URL, options: Client.Options) {
    const making: { socket?: Duplex | undefined } = {};
    const connect = options.connect as Connect;
    super(origin, {
      ...options,
      connect(to, told) {
        making.socket = connect(to, (...outcome) => {
          making.socket = undefined;
          told(...outcome);
        });
      },
    });
    this.#making = making;
  }

  /**
   * undici's `Pool` passes over a client that has said `false` until that tells it of a "drain". A client that refuses
   * a request at once, for a header that undici does not send (`Expect`), says `false` too; but it has nothing to drain
   * and never tells, and the pool would lose a connection with each such request.
   */
  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    clients.set(options, this);
    const isFree = super.dispatch(options, handler) || this.stats.size === 0;
    if (abandoned.has(options)) this.stopConnecting();
    return isFree;
  }

  /** The one request that waits for the connection fails, and the pool forgets the client. */
  stopConnecting(): void {
    this.#making.socket?.destroy(new Error("Nobody waits for this connection any more"));
  }
}

/**
 * Nobody waits for this request any more. undici looks at that only once the request has its connection; if the host
 * does not answer, that is after ten seconds.
 */
export function abandon(request: DispatchOptions): void {
  abandoned.add(request);
  clients.get(request)?.stopConnecting();
}

/** undici's pool of connections to one host. */
export function poolOfClients(origin: string, options: Pool.Options): Pool {
  return new Pool(origin, { ...options, factory: (to, given) => new HostClient(to, given) });
}
