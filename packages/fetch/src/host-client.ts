import { Client, type Dispatcher, Pool } from "undici";

/**
 * One connection of a host's pool. undici's `Pool` passes over a client that has said `false` until that tells it of a
 * "drain". A client that refuses a request at once, for a header that undici does not send (`Expect`), says `false`
 * too; but it has nothing to drain and never tells, and the pool would lose a connection with each such request.
 */
class HostClient extends Client {
  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    return super.dispatch(options, handler) || this.stats.size === 0;
  }
}

/** undici's pool of connections to one host. */
export function poolOfClients(origin: string, options: Pool.Options): Pool {
  return new Pool(origin, { ...options, factory: (to, given) => new HostClient(to, given) });
}
