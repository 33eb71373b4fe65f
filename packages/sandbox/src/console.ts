import type { ServerResponse } from "node:http";
import { consolePage, overview, requestRow, storeCard } from "./console-page.js";
import { consoleScript } from "./console-script.js";
import type { Controls } from "./controls.js";
import {
  type Answer,
  type Incoming,
  isCrossSite,
  jsonAnswer,
  mediaTypeOf,
  methodNotAllowed,
  sendAnswer,
} from "./http.js";
import type { LoggedRequest } from "./request-log.js";
import { isSameSecret, newPageId } from "./secrets.js";
import type { Service, Watcher } from "./service.js";
import { stylesheet } from "./stylesheet.js";

/** The pages for people at the root of the sandbox. None of their own requests is logged. */
export interface ConsolePages {
  handles(request: Incoming): boolean;
  answer(request: Incoming, response: ServerResponse): void;
}

export function openConsole(service: Service, controls: Controls): ConsolePages {
  // Another site's page can send us requests but not read our page, so it does not know this.
  const pageToken = newPageId();
  const pages: Record<string, (request: Incoming) => Answer> = {
    "/": () => consolePage(service, pageToken),
    "/sandbox.css": () => asset("text/css", stylesheet),
    "/sandbox.js": () => asset("text/javascript", consoleScript),
    // For programs: what `sandbox.requests` is to those who started the sandbox themselves.
    "/console/requests": () => jsonAnswer(200, service.log.entries()),
  };

  return {
    handles: ({ path }) => Object.hasOwn(pages, path) || path.startsWith("/console/"),
    answer(request, response) {
      const isReading = request.method === "GET" || request.method === "HEAD";
      if (request.path === "/console/actions") return sendAnswer(response, act(controls, pageToken, request));
      if (!isReading) return sendAnswer(response, methodNotAllowed("GET, HEAD"));
      if (request.path === "/console/events" && !isCrossSite(request)) return watch(service, response);
      const page = pages[request.path];
      sendAnswer(response, page ? page(request) : jsonAnswer(404, { error: "not_found" }));
    },
  };
}

interface Done {
  /** What to tell the person. */
  readonly said: string;
  /** A new personal token: the only time it leaves the sandbox. */
  readonly token?: string;
}

type Action = (controls: Controls, domainPrefix: string, user: string) => Done;

/** The buttons of a store's card. */
const actions: Record<string, Action> = {
  expire(controls, domainPrefix) {
    const count = controls.expire(domainPrefix);
    return { said: `${plural(count, "access token")} expired. The next call gets a 401.` };
  },
  refuse(controls, domainPrefix) {
    controls.refuse(domainPrefix);
    return { said: "Refresh token refused from now on. Only a new login mends it." };
  },
  limit(controls, domainPrefix) {
    controls.limit(domainPrefix, 60_000);
    return { said: "The token endpoint answers 429 for a minute." };
  },
  fail(controls, domainPrefix) {
    controls.fault(500, { domainPrefix, times: Number.POSITIVE_INFINITY });
    return { said: "The token endpoint answers 500 until you heal it." };
  },
  heal(controls, domainPrefix) {
    controls.clearFaults(domainPrefix);
    return { said: "Healed: the token endpoint answers as it should." };
  },
  createPersonalToken(controls, domainPrefix, user) {
    return {
      said: `Personal token of ${user} created.`,
      token: controls.createPersonalToken(domainPrefix, user),
    };
  },
  resetPassword(controls, domainPrefix, user) {
    const count = controls.resetPassword(domainPrefix, user);
    return { said: `Password of ${user} reset. ${plural(count, "personal token")} deleted.` };
  },
};

function act(controls: Controls, pageToken: string, request: Incoming): Answer {
  if (request.method !== "POST") return methodNotAllowed("POST");
  const token = request.headers["x-page-token"];
  if (isCrossSite(request) || typeof token !== "string" || !isSameSecret(token, pageToken)) {
    return jsonAnswer(403, { error: "This page is out of date. Reload it." });
  }
  if (mediaTypeOf(request) !== "application/json") return jsonAnswer(415, { error: "application/json only" });
  try {
    const { action = "", domainPrefix = "", user = "" } = JSON.parse(request.body) as Record<string, string>;
    if (!Object.hasOwn(actions, action)) return jsonAnswer(400, { error: "There is no such action." });
    return jsonAnswer(200, actions[action]?.(controls, String(domainPrefix), String(user)));
  } catch (error) {
    return jsonAnswer(400, {
      error: error instanceof TypeError ? error.message : "The request cannot be read.",
    });
  }
}

/**
 * Server-Sent Events: everything once, then whatever changes, as pieces of HTML.
 * Stores that change often are drawn at most twenty times a second.
 */
function watch(service: Service, response: ServerResponse): void {
  response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
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
    onStoreChange(domainPrefix) {
      const all = service.retailers.all.map((retailer) => retailer.domainPrefix);
      for (const prefix of domainPrefix === undefined ? all : [domainPrefix]) changed.add(prefix);
      drawing ??= setTimeout(draw, 50).unref();
    },
  };
  // A page that was away for a while has missed things.
  watcher.onStoreChange();
  for (const entry of service.log.latest(100)) sendRequest(entry);
  service.watchers.add(watcher);
  response.on("close", () => {
    service.watchers.delete(watcher);
    clearTimeout(drawing);
  });
}

function asset(type: string, body: string): Answer {
  return {
    status: 200,
    headers: { "Content-Type": `${type}; charset=utf-8`, "Cache-Control": "no-cache" },
    body,
  };
}

const plural = (count: number, what: string) =>
  `${count === 0 ? "No" : count} ${what}${count === 1 ? "" : "s"}`;
