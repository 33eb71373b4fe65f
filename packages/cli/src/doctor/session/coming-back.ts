import { type Answer, asker, isSilence, type Reply } from "../browser/browser-get.js";
import {
  type OwnLoginsSeen,
  type Places,
  type StrangersSeen,
  visitWithMadeUpCode,
} from "../callback/callback-visits.js";
import { madeUpCode, madeUpCodeSent } from "../callback/made-up-code.js";
import type { Finding } from "../findings/finding.js";
import { cannotTell, isClear, knownAgain, notLooked, ownLogin } from "./own-login.js";

export interface ComingBackOptions {
  /** A retailer whose token endpoint may be asked, if one was named. */
  readonly domainPrefix?: string | undefined;
  /** The one made-up code is for something else. */
  readonly isSecretWanted?: boolean | undefined;
  readonly timeoutMs?: number | undefined;
}

/** What is known of the callback by now. */
export interface CallbackSeen {
  readonly strangers: StrangersSeen;
  /** Undefined if the application's own logins could not be tried. */
  readonly own: OwnLoginsSeen | undefined;
  /** A login that starts has a problem already, or its cookie has; then it cannot come back either. */
  readonly isRequestWrong: boolean;
}

export interface CameBack {
  readonly findings: Finding[];
  /** The application was given the one made-up code of this run. */
  readonly isCodeSent: boolean;
}

/** Core's own patience with a token endpoint, by default: the application may need that long to answer. */
const TOKEN_REQUEST_MS = 10_000;
const DEFAULT_TIMEOUT_MS = 10_000;

/** Whether the application knows its own logins again; and if a store was named, what becomes of a code. */
export async function comeBack(
  options: ComingBackOptions,
  places: Places,
  { strangers, own, isRequestWrong }: CallbackSeen,
): Promise<CameBack> {
  if (isRequestWrong) return notSent(notLooked("Fix the problems above first; then run the doctor again."));
  if (!own) {
    const mend =
      "Run the doctor again in a while: the callback did not answer, or a limit of the application's was reached.";
    return notSent(notLooked(mend));
  }
  const { forged, forgedAgain } = strangers;
  const mayTry = options.domainPrefix !== undefined && options.isSecretWanted !== true;
  const isLost = isClear(own) && own.knew.some((each) => each !== "known");
  if (!mayTry || isLost || !forgedAgain || isSilence(forged) || isSilence(forgedAgain))
    return notSent(ownLogin(own, howToKnow(options)));
  return tryCode(options, places, own, [forged, forgedAgain]);
}

async function tryCode(
  { timeoutMs = DEFAULT_TIMEOUT_MS }: ComingBackOptions,
  places: Places,
  seen: OwnLoginsSeen,
  strangers: readonly [Answer, Answer],
): Promise<CameBack> {
  const patient = asker(timeoutMs + TOKEN_REQUEST_MS, Date.now, places.time);
  const visit = () => visitWithMadeUpCode(places, patient, strangers);
  const first = await visit();
  const pauseMs = first && pauseIn(first.answer);
  if (pauseMs !== undefined) await places.time.pause(pauseMs);
  const tried = pauseMs === undefined ? first : ((await visit()) ?? first);
  if (!tried) return notSent(ownLogin(seen, ""));
  const { answer, knew } = tried;
  const sent = madeUpCodeSent(places.domainPrefix);
  if (knew === "unknown") {
    const all: OwnLoginsSeen = { ...seen, knew: [...seen.knew, knew] };
    return { findings: [sent, ownLogin(all, "")], isCodeSent: true };
  }
  const isKnown = isClear(seen) || knew === "known";
  if (!isKnown && !isSilence(answer)) return { findings: [sent, cannotTell()], isCodeSent: true };
  const others = { failed: seen.known, refused: strangers };
  const known = isClear(seen) ? ownLogin(seen, "") : knownAgain();
  return {
    findings: [sent, ...(isKnown ? [known] : []), ...madeUpCode(answer, others)],
    isCodeSent: true,
  };
}

/** Core's longest pause after a code that was refused, as the doctor's own of a minute ago (behaviour 7). */
const LONGEST_PAUSE_S = 10;
/** Core says so of a 429. Then the code was sent, and this run sends no other. */
const LIMITED_BY_THE_SERVICE = /is rate limited; next request at/;

/** How long the application wants to wait before it sends a code, if that is not long. */
function pauseIn(reply: Reply): number | undefined {
  if (isSilence(reply) || reply.status !== 503 || LIMITED_BY_THE_SERVICE.test(reply.text)) return undefined;
  const seconds = reply.headers.get("retry-after") ?? "";
  return /^\d{1,2}$/.test(seconds) && Number(seconds) <= LONGEST_PAUSE_S ? Number(seconds) * 1000 : undefined;
}

function notSent(finding: Finding): CameBack {
  return { findings: [finding], isCodeSent: false };
}

function howToKnow({ domainPrefix, isSecretWanted }: ComingBackOptions): string {
  if (domainPrefix === undefined)
    return "Name a store with --store <domain_prefix>, and one code is tried. Or: ";
  return isSecretWanted
    ? "Leave out --client-secret-env, and the code is tried in the application. Or: "
    : "";
}
