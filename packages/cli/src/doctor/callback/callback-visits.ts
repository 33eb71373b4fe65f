import { STATUS_CODES } from "node:http";
import type { Time } from "../../terminal/time.js";
import { type Answer, type Ask, isSilence, type Reply } from "../browser/browser-get.js";
import { differsFrom } from "../browser/likeness.js";
import { type Login, startLogin } from "../browser/login.js";
import { toldFailure } from "../browser/told-failure.js";
import {
  approvedCallback,
  declinedCallback,
  failedCallback,
  forgedState,
  malformedCallback,
} from "./callback-addresses.js";

/** The parts of an application that are visited. */
export interface Places {
  readonly ask: Ask;
  readonly time: Time;
  /** The login route. */
  readonly url: URL;
  /** A browser's cookies before it comes to the login route. */
  readonly newJar: () => Login["jar"];
  /** These are of somebody who is logged in; without them the application answers nothing else. */
  readonly hasAccount: boolean;
  /** Where the service would send the browser back to. */
  readonly callback: URL;
  /** Named in callbacks; no code reaches its token endpoint, if the application checks the state. */
  readonly domainPrefix: string;
}

/** What the callback answers to people who cannot be let in. */
export interface StrangersSeen {
  /** A code with a state that nobody was sent, from a browser with a login under way. */
  readonly forged: Reply;
  /** The same with another state, right after it. */
  readonly forgedAgain?: Reply;
  /** The same from a browser without any cookie; only if the first one failed or was slow. */
  readonly withoutCookies?: Reply;
  readonly declined?: Reply;
  /** An address of the application where nothing should be; only if it may have one answer for everything. */
  readonly nowhere?: Reply;
}

/** Whether the application knew a login again that it had started itself. `unclear`: its answer does not show it. */
export type Knew = "known" | "unknown" | "unclear";

/** What the application answers to logins of its own that come back with an error of the service. */
export interface OwnLoginsSeen {
  readonly knew: readonly Knew[];
  /** Answers to a known login; their statuses tell whether the application's statuses are the library's. */
  readonly known: readonly Answer[];
  /** A login was not known at first, and was a while later. */
  readonly isLate: boolean;
  /** Passport itself answers logins that fail. Errors it hands on, so they have another answer. */
  readonly isPassportsAnswer: boolean;
  /** What an answer said of the reason. */
  readonly told: ReturnType<typeof toldFailure>;
  /** The visits with its cookie that made the application start a new session, of how many. */
  readonly replaced: readonly boolean[];
}

/** A slow answer is asked for once more without cookies, to see whether the session is what is slow. */
const SLOW_MS = 1_500;
/** Two processes that take turns at random show themselves with a chance of 15 in 16. */
const LOGINS_TRIED = 4;
const REVISITS = 3;
/** A retailer takes longer to come back. */
const PAUSES_MS: readonly number[] = [300, 1_500];

export async function visitAsStranger(places: Places, { jar }: Login): Promise<StrangersSeen> {
  const { ask, callback, domainPrefix, hasAccount } = places;
  const forgery = approvedCallback(callback, domainPrefix, forgedState());
  const forged = await visit(ask, forgery, jar);
  const again = approvedCallback(callback, domainPrefix, forgedState());
  const forgedAgain = isSilence(forged) ? undefined : await visit(ask, again, jar);
  const isOdd = isSilence(forged)
    ? forged.why === "too-late"
    : forged.status >= 500 || forged.tookMs > SLOW_MS;
  const withoutCookies = isOdd && !hasAccount ? await ask(forgery) : undefined;
  const declined = isSilence(forged) ? undefined : await visit(ask, declinedCallback(callback), jar);
  const mayBeForAll = !isSilence(forged) && (forged.status < 400 || [401, 403].includes(forged.status));
  const nowhere = mayBeForAll ? await visit(ask, new URL(`/${forgedState()}`, callback), jar) : undefined;
  return {
    forged,
    ...(forgedAgain && { forgedAgain }),
    ...(withoutCookies && { withoutCookies }),
    ...(declined && { declined }),
    ...(nowhere && { nowhere }),
  };
}

/** Whether a callback that answers strangers so may know anybody: it is there, and refuses them. */
export function mayKnow({ forged }: StrangersSeen): boolean {
  if (isSilence(forged)) return false;
  const { status } = forged;
  return status >= 300 && status < 500 && ![404, 405, 429].includes(status);
}

/**
 * Starts several logins and comes back from each. No token request is made by it, and no login spent. Undefined if the
 * callback does not answer, or its limit is reached.
 */
export async function visitWithOwnLogins(places: Places, login: Login): Promise<OwnLoginsSeen | undefined> {
  const { ask, time, url, newJar, callback, domainPrefix } = places;
  const failed = (state: string, { jar }: Login) => visit(ask, failedCallback(callback, state), jar);
  const strangers = [await failed(forgedState(), login), await failed(forgedState(), login)] as const;
  if (strangers.some(saysNothing)) return undefined;
  const baseline = strangers as readonly [Answer, Answer];

  const [knew, answers]: [Knew[], Reply[]] = [[], []];
  let isLate = false;
  let pauses = PAUSES_MS;
  for (let count = 0; count < LOGINS_TRIED; count += 1) {
    const own = await startLogin(ask, url, newJar());
    const state = own.request?.searchParams.get("state");
    if (!state) break;
    const tries = await untilKnown(() => failed(state, own), baseline, { time, pauses });
    if (tries.some((reply) => !isSilence(reply) && saysNothing(reply))) break;
    const judged = tries.map((answer) => judge(answer, baseline));
    const isLateHere = judged.length > 1 && judged.at(-1) === "known";
    isLate ||= isLateHere;
    knew.push(...(isLateHere ? judged.slice(-1) : judged));
    answers.push(...tries);
    if (isLate) break;
    if (tries.length > 1) pauses = []; // it will not come late the next time either
  }
  if (knew.length === 0) return undefined;
  const isKnown = knew.every((each) => each === "known");
  const malformed = isKnown
    ? undefined
    : await visit(ask, malformedCallback(callback, domainPrefix), login.jar);
  return {
    knew,
    known: answers.filter((answer): answer is Answer => judge(answer, baseline) === "known"),
    isLate,
    isPassportsAnswer: isBare(baseline[0], 403) && malformed !== undefined && isBare(malformed, 400),
    told: answers.map((reply) => (isSilence(reply) ? undefined : toldFailure(reply))).find(isOfTheState),
    replaced: isKnown ? [] : await revisit(places),
  };
}

/**
 * Comes back once with a code that was never issued, and waits until the application's own token request may have given
 * up. `strangers`: what forged callbacks were answered.
 */
export async function visitWithMadeUpCode(
  { ask, url, newJar, callback, domainPrefix }: Places,
  patientAsk: Ask,
  strangers: readonly [Answer, Answer],
): Promise<{ answer: Reply; knew: Knew } | undefined> {
  const own = await startLogin(ask, url, newJar());
  const state = own.request?.searchParams.get("state");
  if (!state) return undefined;
  const answer = await visit(patientAsk, approvedCallback(callback, domainPrefix, state), own.jar);
  const knew = judge(answer, strangers);
  const isForgotten = knew === "unclear" && !isSilence(answer) && keepsLoginCookie(own, answer);
  return { answer, knew: isForgotten ? "unknown" : knew };
}

const OF_WEB_LOGIN = /^(?:__Host-)?retail-pos\.[\w-]{8}\.[\w-]{16}$/;

/** `webLogin` has a cookie for each login, and removes that of a login which it knew, however that ended. */
function keepsLoginCookie({ cookies }: Login, { headers }: Answer): boolean {
  const names = cookies.map(({ cookie }) => cookie.key).filter((name) => OF_WEB_LOGIN.test(name));
  const isSetAnew = (name: string) => headers.getSetCookie().some((line) => line.startsWith(`${name}=`));
  return names.length > 0 && !names.some(isSetAnew);
}

function judge(reply: Reply, strangers: readonly [Answer, Answer]): Knew {
  if (isSilence(reply)) return "unclear";
  if (isOfTheState(toldFailure(reply))) return "unknown";
  return differsFrom(reply, strangers) ? "known" : "unclear";
}

function isOfTheState(told: ReturnType<typeof toldFailure>): boolean {
  return told === "state_unknown" || told === "sealed_elsewhere";
}

/**
 * Asks again after each pause, as long as the login is not known; then once more: behind several processes that take
 * turns it would be known only now and then.
 */
async function untilKnown(
  ask: () => Promise<Reply>,
  baseline: readonly [Answer, Answer],
  { time, pauses }: { time: Time; pauses: readonly number[] },
): Promise<Reply[]> {
  const answers = [await ask()];
  const isKnown = () => judge(answers.at(-1) as Reply, baseline) === "known";
  if (isKnown()) return answers;
  for (const ms of pauses) {
    await time.pause(ms);
    answers.push(await ask());
    if (isKnown()) return [...answers, await ask()];
  }
  return answers;
}

/** For some visits of the login route, whether a browser with a session got a new one: the old one was not found. */
async function revisit({ ask, url, newJar }: Places): Promise<boolean[]> {
  const replaced: boolean[] = [];
  const { jar, cookies } = await startLogin(ask, url, newJar());
  const ids = new Map(
    cookies.filter(({ cookie }) => isSessionId(cookie.value)).map(({ cookie }) => [cookie.key, cookie.value]),
  );
  if (ids.size === 0) return replaced;
  for (let count = 0; count < REVISITS; count += 1) {
    const again = await startLogin(ask, url, await jar.clone());
    const fresh = again.cookies.map(
      ({ cookie }) => ids.has(cookie.key) && ids.get(cookie.key) !== cookie.value,
    );
    replaced.push(fresh.some(Boolean));
  }
  return replaced;
}

/** express-session's: an id and its signature. A cookie that holds a whole session changes with each login. */
function isSessionId(value: string): boolean {
  return /^s(?::|%3A)/i.test(value);
}

/** More than any site needs from one spelling of an address to the other. */
const MOST_HOPS = 3;

/**
 * One visit of the callback. A redirect to the same path (with www, with https, with a slash at its end) is followed as
 * a browser does, unless it loses the query.
 */
async function visit(ask: Ask, to: URL, jar: Login["jar"]): Promise<Reply> {
  let reply = await ask(to, await cookiesFor(jar, to));
  for (let hops = 0; hops < MOST_HOPS && !isSilence(reply) && reply.location; hops += 1) {
    const { location, url } = reply;
    if (!isOtherSpelling(location, url) || location.search !== url.search) break;
    reply = await ask(location, await cookiesFor(jar, location));
  }
  return reply;
}

function cookiesFor(jar: Login["jar"], to: URL): Promise<string> {
  return jar.getCookieString(to.href, { sameSiteContext: "lax" });
}

/** Of the same address: the same path, but for a slash at its end, at another origin or not. */
export function isOtherSpelling(one: URL, other: URL): boolean {
  const plain = ({ pathname }: URL) => pathname.replace(/\/$/, "");
  return plain(one) === plain(other) && one.origin + one.pathname !== other.origin + other.pathname;
}

/** A limit of the application's own speaks, and not its callback. */
function saysNothing(reply: Reply): boolean {
  return isSilence(reply) || reply.status === 429;
}

/** A status and its name, as Passport answers without a page of the application's. */
function isBare(reply: Reply, status: number): boolean {
  return !isSilence(reply) && reply.status === status && reply.text.trim() === STATUS_CODES[status];
}
