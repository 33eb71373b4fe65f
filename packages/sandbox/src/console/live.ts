import type { ServerResponse } from "node:http";
import { type Answer, type Incoming, isCrossSite, jsonAnswer } from "../http/http.js";
import type { Service, Watcher } from "../service/service-state.js";
import type { LoggedRequest } from "../traffic/request-log.js";
import { overview } from "./page.js";
import { requestRow } from "./request-row.js";
import { storeCard } from "./retailer-card.js";

/**
 * Server-Sent Events: everything once, then each change, as pieces of HTML. Stores that change often are drawn at most
 * twenty times a second.
 */
export function watch(service: Service, request: Incoming, response: ServerResponse): Answer | undefined {
  // Another site's page could open such streams and keep their connections for as long as it likes.
  if (isCrossSite(request)) return jsonAnswer(403, { error: "cross_site" });
  response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
  // With the sandbox's time each time, so that the countdowns follow a clock that a test moves.
  const send = (event: string, data: object) =>
    response.write(`event: ${event}\ndata: ${JSON.stringify({ now: service.now(), ...data })}\n\n`);
  const sendRequest = (entry: LoggedRequest) =>
    send("request", { id: `request-${entry.id}`, html: requestRow(service, entry).html });
  const changed = new Set<string>();
  let drawing: NodeJS.Timeout | undefined;

  function draw(): void {
    drawing = undefined;
    for (const domainPrefix of changed) {
      send("store", { id: `store-${domainPrefix}`, html: storeCard(service, domainPrefix).html });
    }
    changed.clear();
    send("overview", { id: "overview", html: overview(service).html });
  }

  const watcher: Watcher = {
    onRequest: sendRequest,
    // Gathered for 50 ms: a thousand callers at one expiry would otherwise redraw a card a thousand times.
    onStoreChange(domainPrefix) {
      const all = service.retailers.all.map((retailer) => retailer.domainPrefix);
      for (const prefix of domainPrefix === undefined ? all : [domainPrefix]) changed.add(prefix);
      drawing ??= setTimeout(draw, 50).unref(); // an open page must not keep a closed sandbox's process alive
    },
  };
  // A page that connects again has missed changes, so it gets everything.
  watcher.onStoreChange();
  for (const entry of service.log.latest(100)) sendRequest(entry); // as many as the page has when it is loaded
  service.watchers.add(watcher);
  response.on("close", () => {
    service.watchers.delete(watcher);
    clearTimeout(drawing);
  });
  return undefined;
}
