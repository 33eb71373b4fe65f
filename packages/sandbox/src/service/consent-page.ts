import { type Html, html } from "../http/html.js";
import type { Answer } from "../http/http.js";
import { brand, pageAnswer } from "../http/page.js";
import { canConnect, notApprovedLimit, type Retailer } from "../stores/retailer-accounts.js";
import type { Service } from "./service-state.js";

/**
 * Asks a person whether the application may act for one of the stores. The answer carries `requestId`.
 *
 * @param scopes what the application asks for; empty at a service without scopes.
 */
export function consentPage(service: Service, requestId: string, scopes: readonly string[]): Answer {
  const { retailers, settings } = service;
  const allowed = retailers.all.filter((retailer) => canConnect(retailers, retailer, settings.approved));
  const body = html`
<main class="sheet">
  <header>
    ${brand}
    <h1><span class="quiet">Connect</span> <b>${settings.clientId}</b> <span class="quiet">to your store?</span></h1>
    ${scopes.length === 0 ? allOfIt : only(scopes)}
  </header>
  <form method="post" action="/connect">
    <input type="hidden" name="request" value="${requestId}">
    <fieldset>
      <legend>Choose a store</legend>
      <div class="choices ${retailers.all.length > 8 && "scrolling"}">
        ${retailers.all.map((retailer, index) => choice(retailer, index, allowed.includes(retailer)))}
      </div>
    </fieldset>
    ${allowed.length < retailers.all.length && limitNote}
    <div class="decide">
      <button class="primary" name="decision" value="approve">Approve</button>
      <button name="decision" value="decline" formnovalidate>Decline</button>
    </div>
  </form>
  <footer>You go back to <b>${new URL(settings.redirectUri).host}</b> either way. Nothing here is a real store.</footer>
</main>`;
  return pageAnswer(200, { title: "Connect a store", className: "consent", body });
}

const allOfIt = html`<p>It will act for the store you choose: read its products and record sales. There are no narrower permissions.</p>`;

function only(scopes: readonly string[]): Html {
  return html`<p>It will act for the store you choose, with these permissions only: ${scopes.map((scope, index) => html`${index > 0 && ", "}<code>${scope}</code>`)}.</p>`;
}

/** Tells the person what is wrong. Never a redirect: the address may not be the application's. */
export function problemPage(status: number, heading: string, explanation: string | Html): Answer {
  const body = html`
<main class="sheet problem">
  ${brand}
  <h1>${heading}</h1>
  <p>${explanation}</p>
</main>`;
  return pageAnswer(status, { title: heading, className: "consent", body });
}

function choice({ domainPrefix, name, approvedAt }: Retailer, index: number, allowed: boolean): Html {
  return html`
        <label class="choice">
          <input type="radio" name="store" value="${domainPrefix}" required ${!allowed && html`disabled`}>
          <span class="avatar tint-${index % 6}" aria-hidden="true">${name.slice(0, 1)}</span>
          <span class="choice-name">${name}<small>${domainPrefix}${approvedAt !== undefined && html` <i>connected before</i>`}</small></span>
        </label>`;
}

const limitNote = html`<p class="note">This application is not approved. It has reached its limit of ${notApprovedLimit} stores; only stores connected before can be chosen.</p>`;
