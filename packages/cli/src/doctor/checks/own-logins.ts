import { type Answer, cookiesSetBy, isSilence, type Reply } from "../browser/browser-get.js";
import { callbackAddress } from "../browser/callback-addresses.js";
import { differsFrom, isBare } from "../browser/likeness.js";
import { type Login, startLogin, visit } from "../browser/login.js";
import { type ToldFailure, toldFailure } from "../browser/told-failure.js";
import type { Probe } from "../probe.js";

/** Whether the application knew a login again that it had started itself. `unclear`: its answer does not show it. */
export type Knew = "known" | "unknown" | "unclear";

/** What the application answers to logins of its own that come back with an error of the service. */
export interface OwnLogins {
  readonly knew: readonly Knew[];
  /** Answers to a known login; their statuses tell whether the application's statuses are the library's. */
  readonly known: readonly Answer[];
  /** It answers as Passport does to a login that it does not know. */
  readonly isPassportsAnswer: boolean;
  /** What an answer said of the reason. */
  readonly told: ToldFailure | undefined;
  /** A visit with a session's cookie made the application start a new session. */
  readonly isSessionGone: boolean;
}

/** Two processes that take turns at random show themselves with a chance of 15 in 16. */
const LOGINS_TRIED = 4;
const REVISITS = 3;

/**
 * Comes back from several logins with an error of the service. No token request is made by it, and no login spent.
 * Undefined if the callback lets nobody through, does not answer, or its limit is reached.
 */
export function ownLogins(probe: Probe): Promise<OwnLogins | undefined> {
  return probe.remember("own logins", () => lookAtOwnLogins(probe));
}

async function lookAtOwnLogins(probe: Probe): Promise<OwnLogins | undefined> {
  const { ask, callback, loginOf, visitAs } = probe;
  if (!mayKnow(await visitAs("forged"))) return undefined;
  const strangers = [await visitAs("failed"), await visitAs("failed again")] as const;
  if (strangers.some(saysNothing)) return undefined;
  const baseline = strangers as readonly [Answer, Answer];

  const replies: Reply[] = [];
  for (let count = 0; count < LOGINS_TRIED; count += 1) {
    const own = await loginOf(count);
    const state = own.request?.searchParams.get("state");
    if (!state) break;
    const comeBack = () => visit(ask, callbackAddress(callback as URL, "failed", { state }), own.jar);
    const first = await comeBack();
    // Once more: behind several processes that take turns, it may be known now and then.
    const tries = judge(first, baseline) === "known" ? [first] : [first, await comeBack()];
    if (tries.some((reply) => !isSilence(reply) && saysNothing(reply))) break;
    replies.push(...tries);
  }
  if (replies.length === 0) return undefined;
  const knew = replies.map((reply) => judge(reply, baseline));
  const isKnown = knew.every((each) => each === "known");
  return {
    knew,
    known: replies.filter((reply): reply is Answer => judge(reply, baseline) === "known"),
    isPassportsAnswer: !isKnown && isBare(baseline[0], 403) && isBare(await visitAs("malformed"), 400),
    told: replies.map(told).find(isOfTheState),
    isSessionGone: !isKnown && (await losesSessions(probe)),
  };
}

/** Whether it shows at all; else only a code can tell. */
export function isClear(own: OwnLogins): boolean {
  return own.known.length > 0 || isLost(own);
}

/** Its words say so; or Passport's answer does; or its session was not found. */
export function isLost({ knew, isPassportsAnswer, isSessionGone }: OwnLogins): boolean {
  return knew.includes("unknown") || isPassportsAnswer || isSessionGone;
}

export function judge(reply: Reply, strangers: readonly [Answer, Answer]): Knew {
  const words = told(reply);
  if (isSilence(reply)) return "unclear";
  if (isOfTheState(words)) return "unknown";
  return AFTER_THE_STATE.has(words) || differsFrom(reply, strangers) ? "known" : "unclear";
}

/** Who says this of a code has taken the state for one of its own. */
const AFTER_THE_STATE: ReadonlySet<unknown> = new Set<ToldFailure>(["code_refused", "rate_limited"]);

function told(reply: Reply): ToldFailure | undefined {
  return isSilence(reply) ? undefined : toldFailure(reply);
}

function isOfTheState(words: ToldFailure | undefined): boolean {
  return words === "state_unknown" || words === "sealed_elsewhere";
}

/** Whether a callback that answers strangers so may know anybody: it is there, and refuses them. */
function mayKnow(forged: Reply): boolean {
  if (isSilence(forged)) return false;
  const { status } = forged;
  return status >= 300 && status < 500 && ![404, 405, 429].includes(status);
}

/** A limit of the application's own speaks, and not its callback. */
function saysNothing(reply: Reply): boolean {
  return isSilence(reply) || reply.status === 429;
}

/** Whether a browser with a session of express-session's gets a new one: the old one was not found. */
async function losesSessions({ ask, target, loginOf }: Probe): Promise<boolean> {
  const login = await loginOf(LOGINS_TRIED); // of those before, a callback may have ended the session
  const before = sessionIds(login);
  for (let count = 0; count < REVISITS && before.size > 0; count += 1) {
    const after = sessionIds(await startLogin(ask, target.url, await login.jar.clone()));
    for (const [name, id] of before) if ((after.get(name) ?? id) !== id) return true;
  }
  return false;
}

/** An id and its signature. A cookie that holds a whole session changes with each login. */
function sessionIds({ answers }: Login): Map<string, string> {
  const ids = cookiesSetBy(answers).filter(({ value }) => /^s(?::|%3A)/i.test(value));
  return new Map(ids.map(({ key, value }) => [key, value]));
}
