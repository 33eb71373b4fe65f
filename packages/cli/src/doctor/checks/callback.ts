import { CookieJar } from "tough-cookie";
import { type Answer, isSilence } from "../browser/browser-get.js";
import { isBare, isSamePage } from "../browser/likeness.js";
import { isOtherSpelling } from "../browser/login.js";
import { errorSaid } from "../browser/page-text.js";
import { shown } from "../browser/shown-address.js";
import type { Silence } from "../browser/silence.js";
import { toldFailure } from "../browser/told-failure.js";
import type { Finding } from "../findings/finding.js";
import { found } from "../findings/messages.js";
import type { Probe } from "../probe.js";
import { isClear, ownLogins } from "./own-logins.js";

/** What the application says to a forged callback, and to somebody who declined. */
export async function callback(probe: Probe): Promise<Finding[]> {
  if (!probe.request || !probe.callback) return [];
  const forged = await probe.visitAs("forged");
  const broken = await checkSession(probe);
  if (broken) return [broken];
  if (isSilence(forged)) return [silent(forged)];
  const { status, url } = forged;
  if (status === 404 || status === 405)
    return [found("callback-route missing", { path: url.pathname, status })];
  if (status === 429) return [found("callback-route limited", { at: shown(url) })];
  const refused = await checkRefusal(probe, forged);
  return refused.level === "problem" ? [refused] : [refused, ...(await checkDeclined(probe))];
}

/** It works without the session's cookie, and not with it: then reading the session is what fails. */
async function checkSession({ visitAs, hasAccount }: Probe): Promise<Finding | undefined> {
  const forged = await visitAs("forged");
  if (hasAccount || (isSilence(forged) ? forged.why !== "too-late" : forged.status < 500)) return undefined;
  const bare = await visitAs("forged", new CookieJar());
  if (isSilence(bare) || bare.status >= 500) return undefined;
  const how = isSilence(forged) ? "does not answer" : `ends in ${forged.status}`;
  const said = isSilence(forged) ? "" : errorSaid(forged);
  return found("session-store failing", { how, status: bare.status, said });
}

function silent({ why, unreachable, mends }: Silence): Finding {
  if (why === "nobody-listens" || why === "unknown-host")
    return found("callback-route elsewhere", { why: unreachable });
  return found("callback-route silent", { why: unreachable, mend: mends.application });
}

async function checkRefusal(probe: Probe, forged: Answer): Promise<Finding> {
  const { status, location } = forged;
  if (await isTraded(probe, forged)) return found("state-check");
  if (status >= 500) return failed(forged, probe.isBroken);
  // Browsers show a window for these schemes (RFC 7235, 4.1).
  if (status === 401 && /\b(?:basic|digest)\b/i.test(forged.headers.get("www-authenticate") ?? ""))
    return closed("it asks for a password", probe.isBroken);
  if (location) return checkRedirect(probe, forged, location);
  if (await isDamaged(probe, forged)) return found("callback-route damaged");
  const isForAll = async () => {
    const nowhere = await probe.visitAs("nowhere");
    return !isSilence(nowhere) && isSamePage(nowhere, forged);
  };
  if (status < 300)
    return found((await isForAll()) ? "callback-route page-for-all" : "callback-route page", { status });
  if ((status === 401 || status === 403) && (await isForAll()) && !(await answersItself(probe)))
    return closed(`like every address, it answers ${status}`, probe.isBroken);
  return found("callback-route", { how: `is refused with ${status}` });
}

/** A callback is whole as it is sent. Passport answers a damaged one with a bare 400, also to somebody who declined. */
async function isDamaged(probe: Probe, forged: Answer): Promise<boolean> {
  if (toldFailure(forged) === "invalid_callback") return true;
  const isBareForAll = isBare(forged, 400) && isBare(await probe.visitAs("declined"), 400);
  return isBareForAll && !(await answersItself(probe));
}

/** Its words say so; or it met, the second time, core's pause after a refused code (behaviour 7). */
async function isTraded({ visitAs }: Probe, forged: Answer): Promise<boolean> {
  const told = toldFailure(forged);
  if (["code_refused", "client_refused", "rate_limited", "token_endpoint_failed"].includes(told ?? ""))
    return true;
  const again = await visitAs("forged again");
  const isLimited = ({ status, headers }: Answer) => status === 503 && headers.has("retry-after");
  return !isLimited(forged) && !isSilence(again) && isLimited(again);
}

function failed(answer: Answer, isBroken: boolean): Finding {
  const { status } = answer;
  if (isBroken) return found("callback-route unclear", { how: `ends in ${status}` });
  if (toldFailure(answer) === "no_session") return found("callback-route no-session", { status });
  const said = errorSaid(answer);
  return found(said === "" ? "callback-route failed" : "callback-route failed-aloud", { status, said });
}

async function checkRedirect(probe: Probe, { url }: Answer, location: URL): Promise<Finding> {
  const where = shown(location);
  if (isOtherSpelling(location, url)) return found("callback-query", { where });
  const isConsent = where === shown(probe.request as URL);
  if (isConsent && !(await answersItself(probe))) return found("callback-route new-login");
  if (isConsent || where === shown(probe.target.url)) return found("callback-route circles");
  const nowhere = await probe.visitAs("nowhere");
  const isForAll = !isSilence(nowhere) && nowhere.location && shown(nowhere.location) === where;
  if (isForAll && !(await answersItself(probe)))
    return closed(`like every address, it redirects to ${where}`, probe.isBroken);
  return found("callback-route", { how: "is redirected elsewhere" });
}

/** Its answers show whether it knows its own logins; so it is the callback that answers, and nothing in front. */
async function answersItself(probe: Probe): Promise<boolean> {
  const own = await ownLogins(probe);
  return own !== undefined && isClear(own);
}

function closed(how: string, isBroken: boolean): Finding {
  return isBroken
    ? found("callback-route unclear", { how: `meets a closed door: ${how}` })
    : found("callback-route closed", { how });
}

/** The application's answer to somebody who declined. */
async function checkDeclined({ visitAs }: Probe): Promise<Finding[]> {
  const reply = await visitAs("declined");
  if (isSilence(reply)) return [];
  const { status } = reply;
  if (status < 500) return [found("callback-declined", { status })];
  return [found("callback-declined failed", { status, said: errorSaid(reply) })];
}
