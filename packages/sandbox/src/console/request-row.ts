import { type Html, html } from "../http/html.js";
import type { Service } from "../service/service-state.js";
import type { LoggedRequest } from "../traffic/request-log.js";
import { timeOfDay } from "./formatting.js";

/** One request as a line of the list. The store's name stands in it, so its part of the path is left out. */
export function requestRow({ retailers }: Service, entry: LoggedRequest): Html {
  const { id, at, method, path, domainPrefix, grantType, error, fault } = entry;
  const name = domainPrefix === undefined ? undefined : retailers.find(domainPrefix)?.name;
  const shownPath = domainPrefix === undefined ? path : path.replace(/^\/stores\/[^/]+/, "");
  const details = [name, grantType, error, fault !== undefined && `fault:\u00a0${fault}`]
    .filter(Boolean)
    .join(" · ");
  const outcome = outcomeOf(entry);
  return html`
<li id="request-${id}" class="${outcome.className}">
  <span class="what"><b>${method}</b> ${shownPath}</span>
  <span class="status">${outcome.words}</span>
  <small>${details || (entry.endpoint === "connect" ? "consent page" : entry.endpoint)}</small>
  <time>${timeOfDay(at)}</time>
</li>`;
}

/** The outcome as the client could see it: a status, or how the connection ended. */
function outcomeOf({ status, fault }: LoggedRequest): { words: string; className: string } {
  if (status !== undefined) {
    const className = status >= 500 ? "bad" : status >= 400 ? "warn" : fault === undefined ? "good" : "warn";
    return { words: String(status), className };
  }
  // No status: the client got none, or gets it later.
  if (fault === "silence") return { words: "silence", className: "bad" };
  if (fault === "reset" || fault === "reset-after") return { words: "reset", className: "bad" };
  return { words: fault === "late" ? "held" : "…", className: "wait" };
}
