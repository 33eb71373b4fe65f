import { type Html, html } from "../http/html.js";
import type { Service } from "../service/service-state.js";
import type { Retailer } from "../stores/retailer-accounts.js";
import { users } from "../tokens/personal-tokens.js";
import { hasEnded, type Login } from "../tokens/token.js";
import type { TokenEvent } from "../tokens/token-history.js";
import { countdown, endpointNames, faultWords, masked, momentOf, timeOfDay } from "./formatting.js";
import { openAlarm } from "./timeline-steps.js";

/** One store: the tokens of its newest login, the faults that were asked for, and the buttons for them. */
export function storeCard(service: Service, prefix: string): Html {
  const retailer = service.retailers.get(prefix);
  const { domainPrefix, name } = retailer;
  const index = service.retailers.all.indexOf(retailer);
  const { newest } = service.tokens.of(domainPrefix);
  const alarm = openAlarm(service.history.of(domainPrefix));
  const state = stateOf(service, retailer, newest, alarm);
  return html`
<article id="store-${domainPrefix}" class="panel store is-${state.className}" data-store="${domainPrefix}" aria-label="${name}">
  <header>
    <span class="avatar tint-${index % 6}" aria-hidden="true">${name.slice(0, 1)}</span>
    <h2>${name}<small>${domainPrefix}</small></h2>
    <span class="tag ${state.className}">${state.words}</span>
  </header>
  ${tokenRows(newest)}
  ${newest ? knowledge(service, retailer) : html`<p class="nothing">${state.hint}</p>`}
  ${alarm && alarmWords(service, alarm)}
  ${troubles(service, domainPrefix)}
  ${buttons(service, domainPrefix, newest)}
  ${personalTokens(service, domainPrefix)}
</article>`;
}

/**
 * The store's state in few words, as the service knows it: whether the application still has the tokens, nobody tells
 * it. The newest login decides: earlier ones may live on, but the client has the newest.
 */
function stateOf(
  { codes }: Service,
  { domainPrefix, approvedAt }: Retailer,
  newest?: Login,
  alarm?: TokenEvent,
) {
  if (newest?.refresh?.end) return { className: "bad", words: "Login needed" };
  if (newest && alarm) return { className: "bad", words: "May be lost" };
  if (newest) return { className: "good", words: "Has access" };
  if (codes.isWaiting(domainPrefix)) {
    const hint = "A code is on its way. It is good for ten minutes.";
    return { className: "wait", words: "Approved", hint };
  }
  const nobody = "Nobody of this store has logged in yet.";
  const hint = approvedAt === undefined ? nobody : "Approved before, but that code was never exchanged.";
  return { className: "none", words: "No access", hint };
}

/** Also without a login, so that all cards have the same rows. */
function tokenRows(login: Login | undefined): Html {
  const { access, refresh } = login ?? {}; // the client has these; without rotation, earlier ones may live on
  return html`
  <dl class="tokens">
    <div><dt>Access token</dt><dd>${access ? masked(access.ending) : "none"}</dd>
      <dd class="left">${access && countdown(access.expiresAt, "expired", access.issuedAt)}</dd></div>
    <div><dt>Refresh token</dt><dd>${refresh ? masked(refresh.ending) : "none"}</dd>
      <dd class="left">${login && refreshTokenWords(login)}</dd></div>
  </dl>`;
}

function refreshTokenWords({ refresh, renewals }: Login): Html | string {
  if (refresh?.end) return html`<b class="bad">refused</b>`;
  if (renewals < 2) return renewals === 0 ? "not used yet" : "renewed once";
  return `renewed ${renewals} times`;
}

/** When the tokens were last of use to somebody, and the way to their timeline. */
function knowledge({ tokens, now }: Service, { domainPrefix, name }: Retailer): Html {
  const { newest, usedAt } = tokens.of(domainPrefix);
  const logins = new Set(tokens.live(domainPrefix).map(({ login }) => login));
  const earlier = [...logins].filter((login) => login !== newest).length;
  const used = usedAt !== undefined && `Last used at ${momentOf(usedAt, now())}.`;
  const others =
    earlier > 0 && ` ${earlier === 1 ? "One earlier login" : `${earlier} earlier logins`} as well.`;
  return html`<p class="nothing">${used}${others} ${timelineLink(domainPrefix, name)}</p>`;
}

/** Works without the script, which only spares the reload. */
function timelineLink(domainPrefix: string, name: string): Html {
  return html`<a id="timeline-of-${domainPrefix}" href="/?store=${domainPrefix}#timeline" data-timeline="${domainPrefix}">Timeline<span class="unseen"> of ${name}</span></a>`;
}

/** The script says it aloud when it is new. */
function alarmWords({ now }: Service, { id, at }: TokenEvent): Html {
  return html`<p class="alarm" data-alarm="${id}"><b>A spent refresh token was sent</b> at ${momentOf(at, now())}. The application may have lost this store.</p>`;
}

/** The faults and the limit that wait for this store, and the button that removes them; nothing if there are none. */
function troubles(service: Service, domainPrefix: string): Html {
  const limitedUntil = service.rateLimiter.limitedUntil(domainPrefix);
  const faults = service.faults
    .waitingFor(domainPrefix)
    .map(({ kind, endpoint }) => html`<li>${endpointNames[endpoint]}: ${faultWords(kind)}</li>`);
  const limited =
    limitedUntil !== undefined &&
    html`<li>${endpointNames.token}: answers 429, ${countdown(limitedUntil, "over")}</li>`;
  if (!limited && faults.length === 0) return remembered(service, domainPrefix);
  return html`
  <div class="troubles">
    <ul aria-label="Set up to go wrong">${limited}${faults}</ul>
    ${button(domainPrefix, "heal", "Heal", true, "primary")}
  </div>`;
}

/** After a limit ended early, the application still waits: it was told until when, and that cannot be taken back. */
function remembered(service: Service, domainPrefix: string): Html {
  const until = service.rateLimiter.rememberedUntil(domainPrefix);
  if (until === undefined) return html``;
  return html`<p class="memo">The application remembers the 429 until ${timeOfDay(until)}, and may send no token request before: ${countdown(until, "over")}</p>`;
}

function buttons(service: Service, domainPrefix: string, newest: Login | undefined): Html {
  // A button that would change nothing is disabled, so that nobody looks for an effect.
  const hasAccess = newest?.access !== undefined && !hasEnded(newest.access, service.now());
  const failing = service.faults.waitingFor(domainPrefix).map(({ endpoint }) => endpoint);
  const isWell = !failing.includes("api");
  const apiButton = (action: string, words: string) =>
    button(domainPrefix, action, html`<span class="unseen">API answers </span>${words}`, isWell);
  return html`
  <div class="actions" role="group" aria-label="Make something go wrong">
    ${button(domainPrefix, "expire", "Expire now", hasAccess)}
    ${button(domainPrefix, "refuse", "Refuse the refresh token", newest !== undefined && !newest.refresh?.end)}
    ${button(domainPrefix, "limit", "429 for a minute")}
    ${button(domainPrefix, "tokenAnswers500", "Answer 500", !failing.includes("token"))}
  </div>
  <div class="actions of-api" role="group" aria-label="Make the API go wrong">
    <span>API answers</span>
    ${apiButton("apiAnswers401", "401")}
    ${apiButton("apiAnswers429", "429")}
    ${apiButton("apiAnswers500", "500")}
    ${apiButton("apiIsSilent", "never")}
  </div>`;
}

function personalTokens({ personalTokens }: Service, domainPrefix: string): Html {
  const tokens = personalTokens.of(domainPrefix);
  const rows = users.map(({ name, admin }) => {
    const held = tokens.filter(({ user }) => user === name).map(({ ending }) => html` ${masked(ending)}`);
    return html`
      <li>
        <span class="user">${name}<small>${admin ? (held.length > 0 ? held : "no tokens") : "not an admin"}</small></span>
        ${admin && userButton(domainPrefix, "createPersonalToken", name, "Create token")}
        ${admin && userButton(domainPrefix, "resetPassword", name, "Reset password")}
      </li>`;
  });
  return html`
  <details id="personal-${domainPrefix}">
    <summary>Personal tokens <span class="count">${tokens.length}</span></summary>
    <ul class="users">${rows}</ul>
  </details>`;
}

/** Its id is the same in every version of the card, so that the browser script finds the button that had the focus. */
function button(
  domainPrefix: string,
  action: string,
  words: string | Html,
  enabled = true,
  className = "",
): Html {
  return html`<button type="button" id="${action}-${domainPrefix}" data-action="${action}" class="${className}" ${!enabled && html`disabled`}>${words}</button>`;
}

/** Each user has buttons with the same words, so the label for screen readers adds the name. */
function userButton(domainPrefix: string, action: string, user: string, words: string): Html {
  return html`<button type="button" id="${action}-${user}-${domainPrefix}" data-action="${action}" data-user="${user}" aria-label="${words}: ${user}">${words}</button>`;
}
