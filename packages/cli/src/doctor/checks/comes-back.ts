import { type Answer, asker, cookiesSetBy, isSilence, type Reply } from "../browser/browser-get.js";
import { callbackAddress } from "../browser/callback-addresses.js";
import { type Login, visit } from "../browser/login.js";
import type { Finding } from "../findings/finding.js";
import { found } from "../findings/messages.js";
import type { Probe } from "../probe.js";
import { OF_A_LOGIN } from "./cookie.js";
import { madeUpCode } from "./made-up-code.js";
import { isClear, isLost, judge, type Knew, type OwnLogins, ownLogins } from "./own-logins.js";

/** Core's own patience with a token endpoint, by default: the application may need that long to answer. */
const TOKEN_REQUEST_MS = 10_000;
const NAME_A_STORE = "Name a store with --store <domain_prefix>, and one code is tried. Or: ";

/** Whether the application knows its own logins again; and if a store was named, what becomes of a code (R2). */
export async function comesBack(probe: Probe): Promise<Finding[]> {
  if (!probe.request || !probe.callback) return [];
  if (probe.isBroken) return [found("own-login not-tried"), found("client-secret not-tried")];
  const own = await ownLogins(probe);
  if (!own) return [found("own-login not-answered"), found("client-secret not-tried")];
  const isUnknown = isClear(own) && own.knew.some((each) => each !== "known");
  const { domainPrefix } = probe.target;
  if (domainPrefix === undefined)
    return [checkOwnLogins(own, NAME_A_STORE), ...(isUnknown ? [] : [found("client-secret not-tried")])];
  return isUnknown ? [checkOwnLogins(own, "")] : tryCode(probe, own, domainPrefix);
}

/** @param how to find out more, if this does not show it. */
function checkOwnLogins(own: OwnLogins, how: string): Finding {
  const { knew, known, told, isSessionGone } = own;
  const isKnown = known.length > 0;
  if (isKnown && knew.some((each) => each !== "known"))
    return found("session-store now-and-then", { times: known.length, all: knew.length });
  if (isKnown) return found("own-login");
  if (!isLost(own)) return found("own-login unclear", { how });
  if (told === "sealed_elsewhere") return found("session-store sealed");
  return found(isSessionGone ? "session-store gone" : "session-store");
}

/** One login comes back with a code that was never issued; the application asks its token endpoint for tokens. */
async function tryCode(probe: Probe, own: OwnLogins, domainPrefix: string): Promise<Finding[]> {
  const strangers = [await probe.visitAs("forged"), await probe.visitAs("forged again")];
  if (strangers.some(isSilence)) return [checkOwnLogins(own, "")];
  const refused = strangers as [Answer, Answer];
  const first = await comeBackWithCode(probe, 4, domainPrefix);
  const pauseMs = first && pauseIn(first.reply);
  if (pauseMs !== undefined) await probe.time.pause(pauseMs);
  const tried = pauseMs === undefined ? first : ((await comeBackWithCode(probe, 5, domainPrefix)) ?? first);
  if (!tried) return [checkOwnLogins(own, "")];

  const { reply, login } = tried;
  const sent = found("made-up-code", { store: domainPrefix });
  const knew = judgeCode(reply, login, refused);
  if (knew === "unknown") return [sent, checkOwnLogins({ ...own, knew: [...own.knew, knew] }, "")];
  const isKnown = isClear(own) || knew === "known";
  if (!isKnown && !isSilence(reply)) return [sent, found("own-login unclear", { how: "" })];
  const known = isKnown ? [found("own-login")] : [];
  return [sent, ...known, ...madeUpCode(reply, { failed: own.known, refused })];
}

/** @param number of the login; those below 4 came back already. */
async function comeBackWithCode(probe: Probe, number: 4 | 5, domainPrefix: string) {
  const { callback, timeoutMs, time } = probe;
  const login = await probe.loginOf(number);
  const state = login.request?.searchParams.get("state");
  if (!state) return undefined;
  const ask = asker(timeoutMs + TOKEN_REQUEST_MS, time);
  const address = callbackAddress(callback as URL, "forged", { domainPrefix, state });
  return { login, reply: await visit(ask, address, login.jar) };
}

/** A login's own cookie is removed once the login is known, however it ends. */
function judgeCode(reply: Reply, login: Login, strangers: readonly [Answer, Answer]): Knew {
  const knew = judge(reply, strangers);
  if (knew !== "unclear" || isSilence(reply)) return knew;
  const names = cookiesSetBy(login.answers).flatMap(({ key }) => (OF_A_LOGIN.test(key) ? [key] : []));
  const isSetAnew = cookiesSetBy([reply]).some(({ key }) => names.includes(key));
  return names.length > 0 && !isSetAnew ? "unknown" : knew;
}

/** Core's longest pause after a code that was refused, as the doctor's own of a minute ago (behaviour 7). */
const LONGEST_PAUSE_S = 10;
/** Core says so of a 429. Then the code was sent, and this run sends no other. */
const LIMITED_BY_THE_SERVICE = "is rate limited; next request at";

/** How long the application wants to wait before it sends a code, if that is not long. */
function pauseIn(reply: Reply): number | undefined {
  if (isSilence(reply) || reply.status !== 503 || reply.text.includes(LIMITED_BY_THE_SERVICE))
    return undefined;
  const seconds = reply.headers.get("retry-after") ?? "";
  return /^\d{1,2}$/.test(seconds) && Number(seconds) <= LONGEST_PAUSE_S ? Number(seconds) * 1000 : undefined;
}
