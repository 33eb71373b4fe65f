import type { FaultKind } from "./faults.js";
import type { Grant } from "./grants.js";
import { type Html, html } from "./html.js";
import type { Answer } from "./http.js";
import { demoApplication } from "./options.js";
import { brand, pageAnswer } from "./page.js";
import { type PersonalToken, users } from "./personal-tokens.js";
import type { LoggedRequest } from "./request-log.js";
import type { Retailer } from "./retailers.js";
import type { Service } from "./service.js";

/** The whole console, as it looks now. Its script keeps the pieces below up to date. */
export function consolePage(service: Service, pageToken: string): Answer {
  const { retailers, log } = service;
  const body = html`
<a class="skip" href="#stores">Skip to the stores</a>
${topBar(service)}
<main class="console">
  <div class="column">
    ${overview(service)}
    <section id="stores" class="stores" aria-label="Stores" tabindex="-1">
      ${retailers.all.map(({ domainPrefix }) => storeCard(service, domainPrefix))}
    </section>
  </div>
  <div class="column side">
    <section class="panel tape" aria-labelledby="requests-title">
      <h2 id="requests-title">Requests</h2>
      <p class="tape-empty">Nothing yet. What your application sends appears here the moment it arrives, without its secrets.</p>
      <ol id="requests" role="log" aria-label="Requests, newest first" tabindex="0">${[...log.latest(100)].reverse().map((entry) => requestRow(service, entry))}</ol>
    </section>
    ${applicationPanel(service)}
  </div>
</main>
<p id="said" class="said" role="status"></p>
${tokenDialog}`;
  const head = html`<meta name="page-token" content="${pageToken}">
<meta name="service-now" content="${service.now()}">
<script src="/sandbox.js" defer></script>`;
  return pageAnswer(
    200,
    { title: "Retail POS sandbox", className: "with-console", body, head },
    { script: true },
  );
}

/** How many stores are connected; and while none is, what to do next. */
export function overview(service: Service): Html {
  const { retailers, grants } = service;
  const connected = retailers.all.filter(({ domainPrefix }) => grants.of(domainPrefix).some(isUsable)).length;
  return html`
<section id="overview" class="overview" aria-labelledby="stores-title">
  <h1 id="stores-title">Stores <span class="quiet">${connected} of ${retailers.all.length} connected</span></h1>
  ${retailers.all.every((retailer) => retailer.approvedAt === undefined) && firstSteps(service)}
</section>`;
}

/** One store: its tokens, what is wrong with it on purpose, and the buttons for that. */
export function storeCard(service: Service, prefix: string): Html {
  const retailer = service.retailers.get(prefix);
  const { domainPrefix, name } = retailer;
  const index = service.retailers.all.indexOf(retailer);
  const grants = service.grants.of(domainPrefix);
  const newest = grants.at(-1);
  const state = stateOf(service, retailer, newest);
  return html`
<article id="store-${domainPrefix}" class="panel store is-${state.className}" data-store="${domainPrefix}" aria-label="${name}">
  <header>
    <span class="avatar tint-${index % 6}" aria-hidden="true">${name.slice(0, 1)}</span>
    <h2>${name}<small>${domainPrefix}</small></h2>
    <span class="tag ${state.className}">${state.words}</span>
  </header>
  ${newest ? grantRows(service, newest, grants.length - 1) : html`<p class="nothing">${state.hint}</p>`}
  ${troubles(service, domainPrefix)}
  ${buttons(service, domainPrefix, newest)}
  ${personalTokens(service, domainPrefix)}
</article>`;
}

/** One line of the till roll. */
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

function topBar({ settings }: Service): Html {
  const { rotation, lifetimeMs, rateLimit, approved } = settings;
  const facts = [
    [
      "Refresh tokens",
      { always: "always rotate", never: "never rotate", sometimes: "rotate every other time" }[rotation],
    ],
    ["Access tokens live", duration(lifetimeMs)],
    ["Token requests", `${rateLimit.limit} per ${duration(rateLimit.windowMs)}`],
    ["Application", approved ? "approved" : "not approved, 30 stores"],
  ] as const;
  return html`
<header class="top">
  ${brand}
  <nav aria-label="On this page"><a href="#stores">Stores</a> <a href="#requests-title">Requests</a> <a href="#application">Settings</a></nav>
  <dl class="facts">${facts.map(([what, how]) => html`<div><dt>${what}</dt><dd>${how}</dd></div>`)}</dl>
  <p id="live" class="live" role="status">Connecting…</p>
</header>`;
}

function firstSteps({ addresses, settings }: Service): Html {
  const preview = new URL(`${addresses.authUrl}/connect`);
  preview.search = new URLSearchParams({
    response_type: "code",
    client_id: settings.clientId,
    redirect_uri: settings.redirectUri,
    state: "a-look-around",
  }).toString();
  return html`
  <div class="panel first-steps">
    <h2>No store is connected yet</h2>
    <ol>
      <li>Give your application the <a href="#application">settings on this page</a> and start it.</li>
      <li>Open <a href="${new URL(settings.redirectUri).origin}">${new URL(settings.redirectUri).host}</a> and log in. You come by here to <a href="${preview.href}">choose a store</a>.</li>
      <li>Come back: expire its tokens, refuse them, let the service fail, and see what your application makes of it.</li>
    </ol>
  </div>`;
}

function stateOf(service: Service, { domainPrefix, approvedAt }: Retailer, newest: Grant | undefined) {
  if (newest && isUsable(newest)) return { className: "good", words: "Connected", hint: "" };
  if (newest) return { className: "bad", words: "Login needed", hint: "" };
  if (service.codes.isWaiting(domainPrefix)) {
    return {
      className: "wait",
      words: "Approved",
      hint: "A code is on its way. It is good for ten minutes.",
    };
  }
  const hint =
    approvedAt === undefined ? "Nobody of this store has logged in yet." : "Approved before, no tokens now.";
  return { className: "none", words: "Not connected", hint };
}

function grantRows(service: Service, grant: Grant, earlier: number): Html {
  const access = grant.access.at(-1);
  const renewed = grant.renewals === 1 ? "renewed once" : `renewed ${grant.renewals} times`;
  return html`
  <dl class="tokens">
    <div><dt>Access token</dt><dd>${access ? masked(access.ending) : "none"}</dd>
      <dd class="left">${access && countdown(service, access.expiresAt, "expired", access.issuedAt)}</dd></div>
    <div><dt>Refresh token</dt><dd>${masked(grant.refresh.ending)}</dd>
      <dd class="left">${isUsable(grant) ? (grant.renewals === 0 ? "not used yet" : renewed) : html`<b class="bad">refused</b>`}</dd></div>
  </dl>
  ${earlier > 0 && html`<p class="nothing">${earlier === 1 ? "One earlier login" : `${earlier} earlier logins`} of this store as well.</p>`}`;
}

function troubles(service: Service, domainPrefix: string): Html {
  const limitedUntil = service.rateLimiter.limitedUntil(domainPrefix);
  const faults = service.faults
    .waitingFor(domainPrefix)
    .map(({ kind, endpoint }) => html`<li>${places[endpoint]}: ${faultWords(kind)}</li>`);
  const limited =
    limitedUntil !== undefined &&
    html`<li>${places.token}: answers 429, ${countdown(service, limitedUntil, "over")}</li>`;
  if (!limited && faults.length === 0) return html``;
  return html`
  <div class="troubles">
    <ul aria-label="Set up to go wrong">${limited}${faults}</ul>
    ${button(domainPrefix, "heal", "Heal", true, "primary")}
  </div>`;
}

function buttons(service: Service, domainPrefix: string, newest: Grant | undefined): Html {
  const hasAccess = newest?.access.some((access) => service.now() < access.expiresAt) ?? false;
  return html`
  <div class="actions" role="group" aria-label="Make something go wrong">
    ${button(domainPrefix, "expire", "Expire now", hasAccess)}
    ${button(domainPrefix, "refuse", "Refuse the refresh token", newest !== undefined && isUsable(newest))}
    ${button(domainPrefix, "limit", "429 for a minute")}
    ${button(domainPrefix, "fail", "Answer 500")}
  </div>`;
}

function personalTokens({ personalTokens }: Service, domainPrefix: string): Html {
  const tokens = personalTokens.of(domainPrefix);
  return html`
  <details id="personal-${domainPrefix}">
    <summary>Personal tokens <span class="count">${tokens.length}</span></summary>
    <ul class="users">
      ${users.map((user) =>
        userRow(
          domainPrefix,
          user,
          tokens.filter((token) => token.user === user.name),
        ),
      )}
    </ul>
  </details>`;
}

function userRow(
  domainPrefix: string,
  user: { name: string; admin: boolean },
  tokens: readonly PersonalToken[],
): Html {
  const held = tokens.map((token) => html` ${masked(token.ending)}`);
  return html`
      <li>
        <span class="user">${user.name}<small>${user.admin ? (tokens.length > 0 ? held : "no tokens") : "not an admin"}</small></span>
        ${user.admin && userButton(domainPrefix, "createPersonalToken", user.name, "Create token")}
        ${user.admin && userButton(domainPrefix, "resetPassword", user.name, "Reset password")}
      </li>`;
}

function button(domainPrefix: string, action: string, words: string, enabled = true, className = ""): Html {
  return html`<button type="button" id="${action}-${domainPrefix}" data-action="${action}" class="${className}" ${!enabled && html`disabled`}>${words}</button>`;
}

function userButton(domainPrefix: string, action: string, user: string, words: string): Html {
  return html`<button type="button" id="${action}-${user}-${domainPrefix}" data-action="${action}" data-user="${user}" aria-label="${words}: ${user}">${words}</button>`;
}

function applicationPanel({ addresses, settings, retailers }: Service): Html {
  const { clientId, clientSecret, redirectUri } = settings;
  const isDemo = clientSecret === demoApplication.clientSecret;
  const rows = [
    ["authUrl", addresses.authUrl],
    ["baseUrl", addresses.baseUrl],
    ["clientId", clientId],
    // Everybody knows the demo's secret. One that somebody set is theirs.
    ["clientSecret", isDemo ? clientSecret : "the one you started the sandbox with"],
    ["redirectUri", redirectUri],
  ] as const;
  // Once a store is connected the settings have done their work, and the requests want the room.
  const isNew = retailers.all.every((retailer) => retailer.approvedAt === undefined);
  return html`
    <details id="application" class="panel application" ${isNew && html`open`}>
      <summary><h2>Your application's settings</h2></summary>
      <dl>${rows.map(([name, value]) => settingRow(name, value, name !== "clientSecret" || isDemo))}</dl>
    </details>`;
}

function settingRow(name: string, value: string, canCopy: boolean): Html {
  return html`<div><dt>${name}</dt><dd><code>${breakable(value)}</code>${canCopy && html`<button type="button" class="copy" data-copy="${value}" aria-label="Copy ${name}">Copy</button>`}</dd></div>`;
}

/** May be broken after a slash, and nowhere else unless it must be. */
const breakable = (address: string) => address.split(/(?<=\/)(?=[^/])/).map((part) => html`${part}<wbr>`);

const tokenDialog = html`
<dialog id="token-dialog" aria-labelledby="token-title">
  <h2 id="token-title">Your new personal token</h2>
  <p>Copy it now: it is shown this once, and kept nowhere that could show it again.</p>
  <code id="token-value"></code>
  <div class="decide">
    <button type="button" class="primary" id="token-copy">Copy</button>
    <button type="button" id="token-close">Done</button>
  </div>
</dialog>`;

/** A time left, ticking in the browser. */
function countdown({ now }: Service, untilAt: number, afterwards: string, fromAt?: number): Html {
  const left = untilAt - now();
  const bar =
    fromAt !== undefined &&
    html`<progress max="${untilAt - fromAt}" value="${Math.max(0, left)}" aria-hidden="true"></progress>`;
  const words = left > 0 ? clockWords(left) : afterwards;
  return html`<span class="countdown ${left <= 0 && "over"}" data-until="${untilAt}" data-over="${afterwards}"><span>${words}</span>${bar}</span>`;
}

function outcomeOf({ status, fault }: LoggedRequest): { words: string; className: string } {
  if (status !== undefined) {
    const className = status >= 500 ? "bad" : status >= 400 ? "warn" : fault === undefined ? "good" : "warn";
    return { words: String(status), className };
  }
  if (fault === "silence") return { words: "silence", className: "bad" };
  if (fault === "reset" || fault === "reset-after") return { words: "reset", className: "bad" };
  return { words: fault === "late" ? "held" : "…", className: "wait" };
}

const places = { token: "Token endpoint", api: "API" };

function faultWords(kind: FaultKind): string {
  if (typeof kind === "number") return `answers ${kind}`;
  const words = {
    silence: "never answers",
    reset: "resets the connection",
    html: "answers with a page of HTML",
    redirect: "redirects elsewhere",
    half: "breaks off in the middle of an answer",
    late: "holds its answer back",
    "reset-after": "does the work, then resets the connection",
  };
  return words[kind];
}

function clockWords(ms: number): string {
  const seconds = Math.ceil(ms / 1000);
  const parts = [Math.floor((seconds % 3600) / 60), seconds % 60].map((part) =>
    String(part).padStart(2, "0"),
  );
  const hours = Math.floor(seconds / 3600);
  return hours > 0 ? `${hours}:${parts.join(":")}` : parts.join(":");
}

function duration(ms: number): string {
  const units = [
    ["h", 3_600_000],
    ["min", 60_000],
    ["s", 1000],
  ] as const;
  const unit = units.find(([, size]) => ms >= size && ms % size === 0);
  return unit ? `${ms / unit[1]} ${unit[0]}` : `${ms} ms`;
}

const isUsable = (grant: Grant) => grant.refusedAt === undefined;
const masked = (ending: string) => html`<code>••••${ending}</code>`;
const timeOfDay = (at: number) => new Date(at).toLocaleTimeString("en-GB");
