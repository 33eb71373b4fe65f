import { realTime, type Time } from "../terminal/time.js";
import { type Ask, asker, isSilence, type Reply } from "./browser/browser-get.js";
import { cookieJar, type Login, startLogin } from "./browser/login.js";
import { isLoopback } from "./browser/shown-address.js";
import { callbackRoute } from "./callback/callback-route.js";
import { mayKnow, visitAsStranger, visitWithOwnLogins } from "./callback/callback-visits.js";
import { clientSecret, noClientSecret } from "./callback/client-secret.js";
import { authorizationRequest } from "./consent/authorization-request.js";
import { clocks } from "./consent/clocks.js";
import { consentPage } from "./consent/consent-page.js";
import { loginRoute } from "./consent/login-route.js";
import { isWebAddress, redirectUri } from "./consent/redirect-uri.js";
import { state } from "./consent/state.js";
import type { Finding, Group } from "./findings/finding.js";
import { comeBack } from "./session/coming-back.js";
import { isClear } from "./session/own-login.js";
import { sessionCookie } from "./session/session-cookie.js";

/** What is to be examined. */
export interface Patient {
  /** The application's login route. */
  readonly url: URL;
  /** The callback address registered with the service. */
  readonly callback?: string | undefined;
  /** {auth_url}; without it any address that ends in `/connect` passes for the consent page. */
  readonly authUrl?: URL | undefined;
  readonly clientId?: string | undefined;
  /** Of a browser that is logged in to the application, as in a `Cookie` header; for the application's host alone. */
  readonly cookies?: string | undefined;
  /** Tried by the doctor itself, if the application's own cannot be. */
  readonly clientSecret?: string | undefined;
  /** The one made-up code is for `clientSecret`; the application's own is left alone. Default false. */
  readonly isSecretWanted?: boolean | undefined;
  /** {base_url} as a template. Default: the sandbox's, if the consent page is on this machine. */
  readonly baseUrl?: string | undefined;
  /** A retailer whose token endpoint may be asked once, with a made-up code. */
  readonly domainPrefix?: string | undefined;
  /** How long one answer may take, milliseconds; default 10 000. */
  readonly timeoutMs?: number | undefined;
  /** Epoch milliseconds; default `Date.now`. */
  readonly clock?: (() => number) | undefined;
  /** Default: the time of this machine. */
  readonly time?: Time | undefined;
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
  const { url, authUrl, cookies, timeoutMs = defaultTimeoutMs, clock = Date.now, time = realTime } = patient;
  const ask = asker(timeoutMs, clock, time);
  const newJar = () => cookieJar(url, cookies);
  const hasAccount = cookies !== undefined;
  const login = await startLogin(ask, url, newJar());
  const { request } = login;
  const groups: Group[] = [{ title: "Login route", findings: loginRoute(login, { authUrl, hasAccount }) }];
  if (request) groups.push(...(await serviceGroups(patient, ask, login, request)));

  const callback = callbackOf(patient, request);
  let isTried = false;
  if (request && callback) {
    const cookieFindings = await sessionCookie(login.cookies, callback, {
      now: clock(),
      hasAccount,
      login: login.answers.at(-1)?.url ?? url,
    });
    groups.push({ title: "Session cookie", findings: cookieFindings });
    const places = {
      ask,
      time,
      url,
      newJar,
      hasAccount,
      callback,
      domainPrefix: patient.domainPrefix ?? "retail-pos-doctor",
    };
    const isRequestWrong = groups.some(({ title, findings }) => title !== "Service" && hasProblem(findings));
    const strangers = await visitAsStranger(places, login);
    const own = isRequestWrong || !mayKnow(strangers) ? undefined : await visitWithOwnLogins(places, login);
    const isOwnClear = own !== undefined && isClear(own);
    const isWithoutCookie = hasProblem(cookieFindings);
    const route = callbackRoute(strangers, { login: url, request, isWithoutCookie, isOwnClear });
    const callbackGroup = { title: "Callback route", findings: route };
    // A callback with a problem of its own, whose answers show no more, is mended first.
    if (route[0]?.level === "problem" || (hasProblem(route) && !isOwnClear)) groups.push(callbackGroup);
    else {
      const back = await comeBack(patient, places, { strangers, own, isRequestWrong });
      const backGroup = { title: "Login that comes back", findings: back.findings };
      // The graver one first: mostly a login that is not known.
      const isCallbackGraver = hasProblem(route) && !hasProblem(back.findings);
      groups.push(...(isCallbackGraver ? [callbackGroup, backGroup] : [backGroup, callbackGroup]));
      isTried = back.isCodeSent;
    }
  }
  if (!isTried)
    groups.push({ title: "Client secret", findings: await clientSecretFindings(patient, request, callback) });
  return groups;
}

/** The authorization request, and what the service says to it. */
async function serviceGroups(patient: Patient, ask: Ask, login: Login, request: URL): Promise<Group[]> {
  const again = await startLogin(ask, patient.url, cookieJar(patient.url, patient.cookies));
  const consent = await ask(request);
  const asked = requestFindings(patient, request, again.request);
  const service = consentPage(consent, { query: request.searchParams, isWrong: hasProblem(asked) });
  return [
    { title: "Authorization request", findings: asked },
    { title: "Service", findings: [...service, ...clockFindings(login, consent)] },
  ];
}

function requestFindings(
  { clientId, callback, cookies }: Patient,
  request: URL,
  again: URL | undefined,
): Finding[] {
  const query = request.searchParams;
  const sent = query.get("redirect_uri");
  return [
    ...authorizationRequest(query, clientId),
    ...state(query.get("state"), again?.searchParams.get("state"), cookies !== undefined),
    ...(sent ? redirectUri(sent, callback) : []),
  ];
}

function clockFindings({ answers }: Login, consent: Reply): Finding[] {
  if (isSilence(consent)) return [];
  return clocks({ serviceAheadMs: consent.aheadMs, applicationAheadMs: answers.at(-1)?.aheadMs });
}

const MEND_FIRST =
  "fix the problems above, or put one into the environment variable RETAIL_POS_CLIENT_SECRET";

async function clientSecretFindings(
  patient: Patient,
  request: URL | undefined,
  callback: URL | undefined,
): Promise<Finding[]> {
  const { clientSecret: secret, domainPrefix, timeoutMs = defaultTimeoutMs } = patient;
  const clientId = patient.clientId ?? request?.searchParams.get("client_id");
  const baseUrl = patient.baseUrl ?? sandboxBaseUrl(request);
  if (!domainPrefix) return [noClientSecret(["name a retailer with --store <domain_prefix>"])];
  if (!secret) return [noClientSecret([MEND_FIRST])];
  if (!baseUrl || !clientId || !callback) {
    const steps = [
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

function hasProblem(findings: readonly Finding[]): boolean {
  return findings.some(({ level }) => level === "problem");
}
