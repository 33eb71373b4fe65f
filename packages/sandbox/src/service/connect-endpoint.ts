import {
  type Answer,
  type Incoming,
  isCrossSite,
  mediaTypeOf,
  methodNotAllowed,
  repeatedNames,
} from "../http/http.js";
import { type Asked, readAuthorizationRequest } from "../logins/authorization-request.js";
import { canConnect, notApprovedLimit, type Retailer } from "../stores/retailer-accounts.js";
import type { ScopeRefusal } from "../stores/scopes.js";
import { consentPage, problemPage } from "./consent-page.js";
import { type Service, storeChanged } from "./service-state.js";

/** `{auth_url}/connect` (4.1): GET shows the consent page, its form comes back as a POST. */
export function connect(service: Service, request: Incoming): Answer {
  if (request.method === "GET" || request.method === "HEAD") return askForConsent(service, request);
  if (request.method === "POST") return answerConsent(service, request);
  return methodNotAllowed("GET, HEAD, POST");
}

/** What a retailer approves: a request, and where its answer goes. */
export interface Approval extends Asked {
  readonly redirectUri: string;
}

/** The address an approval sends the browser to (2.3), with a fresh code in it. */
export function approve(service: Service, retailer: Retailer, { state, scopes, redirectUri }: Approval): URL {
  const { domainPrefix } = retailer;
  // The first approval counts towards the 30 stores (section 8); a store that logs in again counts once.
  retailer.approvedAt ??= service.now();
  const code = service.codes.issue(domainPrefix, redirectUri, scopes);
  storeChanged(service, domainPrefix);
  const granted = scopes.length === 0 ? {} : { scope: scopes.join(" ") };
  return withParameters(redirectUri, { code, domain_prefix: domainPrefix, state, ...granted });
}

/** The address a refusal sends the browser to: only the error, without the state (2.3). */
export function decline(redirectUri: string): URL {
  return withParameters(redirectUri, { error: "access_denied" });
}

/** The address that an error of the request itself goes to, with the state that it was sent with (RFC 6749 4.1.2.1). */
export function refuse(redirectUri: string, state: string, { error, description }: ScopeRefusal): URL {
  return withParameters(redirectUri, { error, error_description: description, state });
}

export const limitProblem: string = `This application is not approved, and ${notApprovedLimit} stores are connected to it already. Choose one of those, or have the application approved (start the sandbox with --approved).`;

const startAgain = "Start the login again from the application.";

function askForConsent(service: Service, { query }: Incoming): Answer {
  const asked = readAuthorizationRequest(query, service.settings);
  if ("problem" in asked)
    return problemPage(400, "This request cannot be shown to a retailer", asked.problem);
  if ("refused" in asked) return redirectTo(refuse(service.settings.redirectUri, asked.state, asked.refused));
  return consentPage(service, service.consents.open(asked), asked.scopes);
}

function answerConsent(service: Service, request: Incoming): Answer {
  const form = new URLSearchParams(request.body);
  // Another site's page could send this form from a retailer's browser without asking anybody.
  if (isCrossSite(request))
    return problemPage(403, "This answer came from another site", "Nothing was approved.");
  if (mediaTypeOf(request) !== "application/x-www-form-urlencoded" || repeatedNames(form).length > 0) {
    return problemPage(400, "This answer cannot be read", startAgain);
  }
  // Taken out before the decision is read: a page that was answered once, with a yes or a no, counts for nothing more.
  const asked = service.consents.answer(form.get("request") ?? "");
  if (asked === undefined) return problemPage(400, "This page has been answered already", startAgain);
  if (form.get("decision") === "decline") return redirectTo(decline(service.settings.redirectUri));
  return approveFromForm(service, form, asked);
}

function approveFromForm(service: Service, form: URLSearchParams, asked: Asked): Answer {
  const { retailers, settings } = service;
  const retailer = retailers.find(form.get("store") ?? "");
  if (form.get("decision") !== "approve" || !retailer) {
    return problemPage(400, "No store was chosen", `${startAgain} Then pick a store.`);
  }
  // Checked again: other stores may have been connected since the page was shown.
  if (!canConnect(retailers, retailer, settings.approved)) {
    return problemPage(403, "No more stores can be connected", limitProblem);
  }
  return redirectTo(approve(service, retailer, { ...asked, redirectUri: settings.redirectUri }));
}

function redirectTo(location: URL): Answer {
  return { status: 302, headers: { Location: location.href, "Cache-Control": "no-store" }, body: "" };
}

/** Keeps the query of the registered address (RFC 6749 3.1.2). */
function withParameters(redirectUri: string, parameters: Record<string, string>): URL {
  const url = new URL(redirectUri);
  for (const [name, value] of Object.entries(parameters)) url.searchParams.append(name, value);
  return url;
}
