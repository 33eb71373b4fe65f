import type { Server, ServerResponse } from "node:http";
import { Server as NetServer } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";

/** Whoever sends people here needs that long to notice that `/ready` says no; until then they are served. */
const STILL_ACCEPTING_MS = 1500;
/** From the signal on. Then what is left is ended. */
const LONGEST_STOP_MS = 10_000;
/** So many connections wait to be accepted at most, unless `listen` is told otherwise. */
const MOST_WAITING = 511;

/** Aborted by SIGTERM or SIGINT. The same signal once more ends the process at once. */
export function stopSignal(): AbortSignal {
  const stop = new AbortController();
  for (const name of ["SIGTERM", "SIGINT"] as const) process.once(name, () => stop.abort());
  return stop.signal;
}

/**
 * Closes the server after the signal, and cuts no answer: for a while it still accepts, and every answer says
 * `Connection: close`; then it takes no new connection, and each that is left ends after its next answer, or after the
 * server's `keepAliveTimeout` without a request.
 *
 * To be called before the first request. If the signal came earlier, do not listen: the server closes all the same.
 * Resolves when the last connection has ended.
 */
export function closeGracefully(server: Server, stopping: AbortSignal): Promise<void> {
  const underWay = new Set<ServerResponse>();
  server.prependListener("request", (_request, response: ServerResponse) => {
    underWay.add(response);
    response.once("close", () => underWay.delete(response));
    if (stopping.aborted) endConnectionAfter(response);
  });

  return new Promise((resolve) => {
    server.once("close", resolve);
    if (stopping.aborted) begin();
    else stopping.addEventListener("abort", begin);
  });

  function begin(): void {
    for (const response of underWay) endConnectionAfter(response);
    setTimeout(takeNoMore, STILL_ACCEPTING_MS);
    setTimeout(() => server.closeAllConnections(), LONGEST_STOP_MS).unref();
  }

  async function takeNoMore(): Promise<void> {
    // Who came while this process was busy still waits, and one is accepted in each turn of the event loop. For as
    // long again at most: a turn may be slow.
    const endsAt = performance.now() + STILL_ACCEPTING_MS;
    for (let turn = 0; turn < MOST_WAITING && performance.now() < endsAt; turn += 1) await nextTurn();
    // Not the close() of HTTP, which ends quiet connections at once: a request may be on its way on each.
    NetServer.prototype.close.call(server);
  }
}

/** Not by a header, which error handlers may remove with all others. */
function endConnectionAfter(response: ServerResponse): void {
  response.shouldKeepAlive = false;
}
