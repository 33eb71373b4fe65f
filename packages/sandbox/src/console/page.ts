import { type Html, html } from "../http/html.js";
import type { Answer } from "../http/http.js";
import { brand, pageAnswer } from "../http/page.js";
import { defaults } from "../options.js";
import type { Service } from "../service/service-state.js";
import { duration } from "./formatting.js";
import { requestRow } from "./request-row.js";
import { storeCard } from "./retailer-card.js";
import { timelinePanel } from "./timeline.js";

/** The whole console as it looks now, with the timeline of the chosen store. Its script keeps the pieces up to date. */
export function consolePage(service: Service, pageToken: string, chosenStore?: string): Answer {
  const { retailers, log } = service;
  const body = html`
<a class="skip" href="#stores">Skip to the stores</a>
${topBar(service)}
${onThisPage}
<main class="console">
  <div class="column">
    ${overview(service)}
    ${timelinePanel(service, chosenStore)}
    <section id="stores" class="stores" aria-label="Stores" tabindex="-1">
      ${retailers.all.map(({ domainPrefix }) => storeCard(service, domainPrefix))}
    </section>
  </div>
  <div class="column side">
    <section class="panel tape" aria-labelledby="requests-title">
      <h2 id="requests-title">Requests</h2>
      <p class="nothing">Nothing yet. What your application sends appears here the moment it arrives, without its secrets.</p>
      <div class="roll" role="region" aria-label="Requests, newest first" tabindex="0">
        <ol id="requests">${[...log.latest(100)].reverse().map((entry) => requestRow(service, entry))}</ol>
      </div>
    </section>
    ${applicationPanel(service)}
  </div>
</main>
<p id="said" class="said" role="status"></p>
${tokenDialog}`;
  const script = html`<meta name="page-token" content="${pageToken}">
<meta name="service-now" content="${service.now()}">
<script src="/sandbox.js" type="module"></script>`;
  return pageAnswer(200, { title: "Retail POS sandbox", className: "with-console", body, script });
}

/** How many stores have access; if none ever had, the first steps too. */
export function overview(service: Service): Html {
  const { retailers, tokens } = service;
  const open = retailers.all.filter(({ domainPrefix }) =>
    tokens.live(domainPrefix).some(({ kind }) => kind === "refresh"),
  ).length;
  return html`
<section id="overview" class="overview" aria-labelledby="stores-title">
  <h1 id="stores-title">Stores <span class="quiet">${open} of ${retailers.all.length} with access</span></h1>
  ${open > 0 && html`<p class="quiet">This is what the service knows: if your application disconnects a store, nobody tells it, and the tokens stay good here.</p>`}
  ${retailers.all.every((retailer) => retailer.approvedAt === undefined) && firstSteps(service)}
</section>`;
}

function topBar({ settings }: Service): Html {
  const { rotation, lifetimeMs, rateLimit, approved } = settings;
  const refreshTokens = {
    always: "always rotate",
    never: "never rotate",
    sometimes: "rotate every other time",
  };
  const facts = [
    ["Refresh tokens", refreshTokens[rotation]],
    ["Access tokens live", duration(lifetimeMs)],
    ["Token requests", `${rateLimit.limit} per ${duration(rateLimit.windowMs)}`],
    ["Application", approved ? "approved" : "not approved, 30 stores"],
  ] as const;
  return html`
<header class="top">
  ${brand}
  <dl class="facts">${facts.map(([what, how]) => html`<div><dt>${what}</dt><dd>${how}</dd></div>`)}</dl>
  <p id="live" class="live" role="status">Connecting…</p>
</header>`;
}

/** On a narrow screen it stays at the top, where everything else is one below the other. */
const onThisPage = html`
<nav class="on-this-page" aria-label="On this page"><a href="#stores">Stores</a><a href="#timeline">Timeline</a><a href="#requests-title">Requests</a><a href="#application">Settings</a></nav>`;

/** The next steps of a person who opened this page before connecting a store. */
function firstSteps({ addresses, settings }: Service): Html {
  // A person may look at the consent page before an application exists: without one, the code is never traded.
  const preview = new URL(`${addresses.authUrl}/connect`);
  preview.search = new URLSearchParams({
    response_type: "code",
    client_id: settings.clientId,
    redirect_uri: settings.redirectUri,
    state: "a-look-around",
    ...(settings.scopes.length > 0 && { scope: settings.scopes.join(" ") }),
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

function applicationPanel({ addresses, settings, retailers }: Service): Html {
  const { clientId, clientSecret, redirectUri, scopes } = settings;
  const isDemo = clientSecret === defaults.clientSecret;
  const rows = [
    ["authUrl", addresses.authUrl],
    ["baseUrl", addresses.baseUrl],
    ["clientId", clientId],
    // Everybody knows the demo's secret. A secret that somebody set is not shown: others may look at the screen.
    ["clientSecret", isDemo ? clientSecret : "the one you started the sandbox with"],
    ["redirectUri", redirectUri],
    ...(scopes.length > 0 ? [["scope", scopes.join(" ")] as const] : []),
  ] as const;
  // Once a store is connected, nobody needs the settings, and the requests need the room.
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
