import { type Html, html } from "../http/html.js";
import { type Answer, jsonAnswer } from "../http/http.js";
import type { Service } from "../service/service-state.js";
import type { TokenEvent } from "../tokens/token-history.js";
import { momentOf } from "./formatting.js";
import { isSpentTokenSent, openAlarm, type Step, stepsOf } from "./timeline-steps.js";
import { tell } from "./timeline-words.js";

/** The tokens of one store over time. `asked` is the store that a person chose; by default the last that changed. */
export function timelinePanel(service: Service, asked: string | undefined): Html {
  const { retailers } = service;
  const domainPrefix = chosenStore(service, asked);
  return html`
<section id="timeline" class="panel timeline" aria-labelledby="timeline-title" data-store="${domainPrefix}" ${domainPrefix === "" && html`hidden`}>
  <header>
    <h2 id="timeline-title" tabindex="-1">Timeline</h2>
    <label class="unseen" for="timeline-store">Store</label>
    <select id="timeline-store" autocomplete="off">
      ${retailers.all.map((retailer) => html`<option value="${retailer.domainPrefix}" ${retailer.domainPrefix === domainPrefix && html`selected`}>${retailer.name}</option>`)}
    </select>
  </header>
  ${timelineBody(service, domainPrefix)}
</section>`;
}

/** The changing part, for the page's script. */
export function timelineAnswer(service: Service, asked: string | undefined): Answer {
  const store = chosenStore(service, asked);
  return jsonAnswer(200, {
    now: service.now(),
    store,
    id: "timeline-body",
    html: timelineBody(service, store).html,
  });
}

/** Empty if nobody chose a store and nothing has happened to any. */
function chosenStore({ retailers, history }: Service, asked: string | undefined): string {
  const retailer = asked === undefined ? undefined : retailers.find(asked);
  return retailer?.domainPrefix ?? history.latestStore() ?? "";
}

function timelineBody(service: Service, domainPrefix: string): Html {
  const events = service.history.of(domainPrefix);
  if (events.length === 0) {
    return html`<div id="timeline-body"><p class="nothing">No token was issued to this store yet.</p></div>`;
  }
  const now = service.now();
  const steps = stepsOf(service.tokens.of(domainPrefix).tokens, events, now);
  return html`
<div id="timeline-body" data-changes-at="${nextEnd(service, domainPrefix)}">
  ${alarm(events, now)}
  <p class="nothing">R: refresh token. A: access token. They are counted in the order of issue.</p>
  <div class="story" id="timeline-story" role="region" aria-label="What happened to the tokens, newest first" tabindex="0">
    <ol>${[...steps].reverse().map((step) => stepRow(step, now))}</ol>
  </div>
</div>`;
}

/** The instant at which the next token's own time is over, for the script: nothing else tells it then. */
function nextEnd({ tokens }: Service, domainPrefix: string): number | undefined {
  const next = Math.min(...tokens.live(domainPrefix).map(({ expiresAt }) => expiresAt));
  return Number.isFinite(next) ? next : undefined;
}

/** A refresh token that was sent after it was spent: the one moment nobody should overlook. */
function alarm(events: readonly TokenEvent[], now: number): Html {
  const event = openAlarm(events);
  if (!event?.sent) return html``;
  const { name, replacedBy } = event.sent;
  return html`
  <div class="alarm">
    <p><b>A spent refresh token was sent at ${momentOf(event.at, now)}</b> by ${tell(event).by}. It was ${name}, which ${replacedBy} had replaced. If your application does not have ${replacedBy}, it has lost this store, and only a new login brings it back.</p>
  </div>`;
}

function stepRow(step: Step, now: number): Html {
  const { lead, rest, by } = tell(step);
  const className = isSpentTokenSent(step) ? "lost" : step.answerLost ? "cut" : step.type;
  return html`
<li class="is-${className}">
  <time datetime="${new Date(step.at).toISOString()}">${momentOf(step.at, now)}</time>
  <p><b>${lead}</b> ${rest} <small>${by}</small></p>
</li>`;
}
