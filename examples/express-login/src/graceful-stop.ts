import type { Server, ServerResponse } from "node:http";
import { Server as NetServer } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";

// Libraries for this end connections on which a request is on its way, or end the process while a token is being saved.

const STILL_ACCEPTING_MS = 1500; // load balancers need that long to notice that `/ready` says no
const LONGEST_STOP_MS = 10_000; // from the signal on; then what is left is ended
const MOST_WAITING = 511; // connections to be accepted, unless `listen` is told otherwise

/** Aborted by SIGTERM, SIGINT or a word of the primary. The same signal once more ends the process at once. */
export function stopSignal(): AbortSignal {
  const stop = new AbortController();
  for (const event of ["SIGTERM", "SIGINT", "message"]) process.once(event, () => stop.abort());
  return stop.signal;
}

/**
 * Closes the server after the signal, and cuts no answer: for a while it still accepts, and every answer says
 * `Connection: close`; then it takes no new connection, and each that is left ends after its next answer, or after the
 * server's `keepAliveTimeout` without a request. To be called before the first request.
 */
export function closeGracefully(server: Server, stopping: AbortSignal): void {
  const underWay = new Set<ServerResponse>();
  server.prependListener("request", (_request, response: ServerResponse) => {
    underWay.add(response);
    response.once("close", () => underWay.delete(response));
    // Not by a header, which error handlers may remove with all others.
    if (stopping.aborted) response.shouldKeepAlive = false;
  });
  stopping.addEventListener("abort", () => {
    for (const response of underWay) response.shouldKeepAlive = false;
    setTimeout(takeNoMore, STILL_ACCEPTING_MS);
    setTimeout(() => server.closeAllConnections(), LONGEST_STOP_MS).unref();
  });

  async function takeNoMore(): Promise<void> {
    // Who came while this process was busy still waits, and one is accepted in each turn of the event loop.
    const endsAt = performance.now() + STILL_ACCEPTING_MS; // a turn may be slow
    for (let turn = 0; turn < MOST_WAITING && performance.now() < endsAt; turn += 1) await nextTurn();
    // Not the close() of HTTP, which ends quiet connections at once: a request may be on its way on each.
    NetServer.prototype.close.call(server);
  }
}
