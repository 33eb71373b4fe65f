import { readFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import type { Controls } from "../controls.js";
import { type Answer, type Incoming, jsonAnswer, methodNotAllowed, sendAnswer } from "../http/http.js";
import { newPageId } from "../secrets.js";
import type { PagesForPeople } from "../service/routes.js";
import type { Service } from "../service/service-state.js";
import { act } from "./actions.js";
import { watch } from "./live.js";
import { consolePage } from "./page.js";
import { timelineAnswer } from "./timeline.js";

export function openConsole(service: Service, controls: Controls): PagesForPeople {
  // Another site's page can send requests here but cannot read this page, so it does not know this value.
  const pageToken = newPageId();
  const [stylesheet, script] = [asset("sandbox.css", "text/css"), asset("sandbox.js", "text/javascript")];
  const pages = new Map<string, (request: Incoming, response: ServerResponse) => Answer | undefined>([
    ["/", ({ query }) => consolePage(service, pageToken, storeIn(query))],
    ["/sandbox.css", () => stylesheet], // the consent page's, too
    ["/sandbox.js", () => script],
    ["/console/timeline", ({ query }) => timelineAnswer(service, storeIn(query))],
    ["/console/events", (request, response) => watch(service, request, response)],
    ["/console/actions", (request) => act(service, controls, pageToken, request)],
    // For programs that did not start the sandbox themselves and have no `sandbox.requests`.
    ["/console/requests", () => jsonAnswer(200, service.log.entries())],
  ]);

  return (request, response) => {
    const page = pages.get(request.path);
    if (!page) return false;
    const isMeant = ["GET", "HEAD"].includes(request.method) || request.path === "/console/actions";
    const answer = isMeant ? page(request, response) : methodNotAllowed("GET, HEAD");
    if (answer) sendAnswer(response, answer);
    return true;
  };
}

/** The store whose timeline a person chose. */
const storeIn = (query: URLSearchParams) => query.get("store") ?? undefined;

/** A file that is in the package beside its code. */
function asset(name: string, type: string): Answer {
  const body = readFileSync(new URL(`../../${name}`, import.meta.url), "utf8");
  return {
    status: 200,
    headers: { "Content-Type": `${type}; charset=utf-8`, "Cache-Control": "no-cache" },
    body,
  };
}
