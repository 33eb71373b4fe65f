import { randomBytes } from "node:crypto";
import { type Ask, asker, isSilence, type Reply } from "./browser-get.js";
import { authorizationRequest } from "./checks/authorization-request.js";
import { callbackRoute, declinedCallback, declinedRoute, forgedCallback } from "./checks/callback-route.js";
import { clientSecret, noClientSecret } from "./checks/client-secret.js";
import { clocks } from "./checks/clocks.js";
import { consentPage } from "./checks/consent-page.js";
import { loginRoute } from "./checks/login-route.js";
import { isWebAddress, redirectUri } from "./checks/redirect-uri.js";
import { sessionCookie } from "./checks/session-cookie.js";
import { state } from "./checks/state.js";
import type { Finding } from "./finding.js";
import { type Login, startLogin } from "./login.js";
import { isLoopback } from "./shown-address.js";

/** What is to be examined. */
export interface Patient {
  /** The application's login route. */
  readonly url: URL;
  /** The callback address registered with the service. */
  readonly callback?: string | undefined;
  /** {auth_url}; without it any address that ends in `/connect` passes for the consent page. */
  readonly authUrl?: URL | undefined;
  readonly clientId?: string | undefined;
  readonly clientSecret?: string | undefined;
  /** {base_url} as a template. Default: the sandbox's, if the consent page is on this machine. */
  readonly baseUrl?: string | undefined;
  /** A retailer whose token endpoint may be asked once about the client secret. */
  readonly domainPrefix?: string | undefined;
  /** How long one answer may take, milliseconds; default 10 000. */
  readonly timeoutMs?: number | undefined;
  /** Epoch milliseconds; default `Date.now`. */
  readonly clock?: (() => number) | undefined;
}

export interface Group {
  readonly title: string;
  readonly findings: readonly Finding[];
}

const defaultTimeoutMs = 10_000;

/**
 * Looks at a running application the way a retailer's browser meets it, up to where the retailer would
 * have to approve, and then at its callback without an approval. Nobody is logged in by it, and no code
 * or token is used up.
 *
 * @throws {TypeError} naming a setting that the client secret cannot be tried with.
 * @throws {InvalidDomainPrefixError}
 */
export async function examine(patient: Patient): Promise<Group[]> {
  const { url, authUrl, timeoutMs = defaultTimeoutMs, clock = Date.now } = patient;
  const ask = asker(timeoutMs, clock);
  const login = await startLogin(ask, url);
  const { request } = login;
  const groups: Group[] = [{ title: "Login route", findings: loginRoute(login, authUrl) }];
  if (request) {
    const again = await startLogin(ask, url);
    const consent = await ask(request);
    groups.push(
      { title: "Authorization request", findings: requestFindings(patient, request, again.request) },
      { title: "Service", findings: [...consentPage(consent), ...clockFindings(login, consent)] },
    );
  }
  const callback = callbackOf(patient, request);
  if (request && callback) {
    groups.push(
      { title: "Session cookie", findings: await sessionCookie(login.cookies, callback, clock()) },
      { title: "Callback route", findings: await callbackFindings(patient, ask, login, request, callback) },
    );
  }
  groups.push({ title: "Client secret", findings: await clientSecretFindings(patient, request, callback) });
  return groups;
}

function requestFindings({ clientId, callback }: Patient, request: URL, again: URL | undefined): Finding[] {
  const query = request.searchParams;
  const sent = query.get("redirect_uri");
  return [
    ...authorizationRequest(query, clientId),
    ...state(query.get("state"), again?.searchParams.get("state")),
    ...(sent ? redirectUri(sent, callback) : []),
  ];
}

function clockFindings({ answers }: Login, consent: Reply): Finding[] {
  if (isSilence(consent)) return [];
  return clocks({ serviceAheadMs: consent.aheadMs, applicationAheadMs: answers.at(-1)?.aheadMs });
}

async function callbackFindings(
  { url, domainPrefix = "retail-pos-doctor" }: Patient,
  ask: Ask,
  { jar }: Login,
  request: URL,
  callback: URL,
): Promise<Finding[]> {
  const visit = async (to: URL) => ask(to, await jar.getCookieString(to.href, { sameSiteContext: "lax" }));
  const forged = forgedCallback(callback, domainPrefix, randomBytes(24).toString("base64url"));
  const finding = callbackRoute(await visit(forged), [url, request]);
  if (finding.level === "problem") return [finding];
  return [finding, ...declinedRoute(await visit(declinedCallback(callback)))];
}

async function clientSecretFindings(
  patient: Patient,
  request: URL | undefined,
  callback: URL | undefined,
): Promise<Finding[]> {
  const { clientSecret: secret, domainPrefix, timeoutMs = defaultTimeoutMs } = patient;
  const clientId = patient.clientId ?? request?.searchParams.get("client_id");
  const baseUrl = patient.baseUrl ?? sandboxBaseUrl(request);
  if (!secret || !domainPrefix || !baseUrl || !clientId || !callback) {
    const steps = [
      ...(secret ? [] : ["put it into the environment variable RETAIL_POS_CLIENT_SECRET"]),
      ...(domainPrefix ? [] : ["name a retailer with --store <domain_prefix>"]),
      ...(baseUrl ? [] : ['give --base-url "https://{domain_prefix}.<service host>"']),
      ...(clientId ? [] : ["give --client-id"]),
      ...(callback ? [] : ["give --callback"]),
    ];
    return [noClientSecret(steps)];
  }
  const redirectUri = callback.href;
  return clientSecret({ clientId, clientSecret: secret, baseUrl, redirectUri, domainPrefix }, timeoutMs);
}

/**
 * Where the service will send the browser back to: what the application asks for, or failing that what is registered.
 */
function callbackOf({ callback }: Patient, request: URL | undefined): URL | undefined {
  const address = request?.searchParams.get("redirect_uri") || callback;
  return address && isWebAddress(address) ? new URL(address) : undefined;
}

function sandboxBaseUrl(request: URL | undefined): string | undefined {
  if (!request || !isLoopback(request)) return undefined;
  return `${request.origin}${request.pathname.replace(/\/connect$/, "")}/stores/{domain_prefix}`;
}
