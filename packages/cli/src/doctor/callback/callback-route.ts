import { type Answer, isSilence, type Reply } from "../browser/browser-get.js";
import { isSamePage } from "../browser/likeness.js";
import { errorSaid } from "../browser/page-error.js";
import { shown } from "../browser/shown-address.js";
import { toldFailure } from "../browser/told-failure.js";
import { type Finding, ok, problem, skipped, warning } from "../findings/finding.js";
import { beforeTheDemand, inFrontOf } from "../findings/refusing-answer.js";
import { mendOfSilence } from "../findings/silence.js";
import { isOtherSpelling, type StrangersSeen } from "./callback-visits.js";

const CHECK = "callback-route";
const TOO_SLOW_MS = 2_000;
const COOKIE_FIRST = "Fix the session's cookie first; this may come from it.";
const NO_PAGE = "The retailer approves, and sees an error page of the browser.";

/** What else is known when the callback is judged. */
export interface Known {
  /** The login route, and the authorization request that it redirects to. */
  readonly login: URL;
  readonly request: URL;
  /** The session's cookie does not reach the callback. Its failures may come from that alone. */
  readonly isWithoutCookie: boolean;
  /** Its answers show whether it knows its own logins; so it is the callback that answers, and nothing in front. */
  readonly isOwnClear: boolean;
}

/** What the application says to a forged callback, and to somebody who declined. */
export function callbackRoute(seen: StrangersSeen, known: Known): Finding[] {
  const { forged, declined } = seen;
  const found = whetherSession(seen) ?? whetherThere(forged) ?? whetherRefused(seen, known);
  if (found.level === "problem" || isSilence(forged)) return [found];
  return [found, ...whetherSlow(seen), ...(declined ? declinedRoute(declined) : [])];
}

/** It works without the session's cookie, and not with it: then reading the session is what fails. */
function whetherSession({ forged, withoutCookies }: StrangersSeen): Finding | undefined {
  if (!withoutCookies || isSilence(withoutCookies) || withoutCookies.status >= 500) return undefined;
  const mend =
    "Check that the session store's database is there and reachable from the application, and listen to its errors: express-session sends the redirect to the service even if the session could not be saved.";
  if (isSilence(forged)) {
    const message = `The session store does not answer: with the session's cookie, ${forged.unreachable}; without it, it answers.`;
    return problem("session-store", message, {
      effect: "The retailer approves, comes back, and waits in front of an empty page.",
      mend: `${mend} Let its client fail while it has no connection (commandTimeout or enableOfflineQueue: false of ioredis, disableOfflineQueue of redis).`,
    });
  }
  if (forged.status < 500) return undefined;
  const message = `The session store fails: with the session's cookie the callback ends in ${forged.status}, without it in ${withoutCookies.status}.${errorSaid(forged)}`;
  const effect = "The retailer approves, comes back, and sees the application's error page.";
  return problem("session-store", message, { effect, mend });
}

function whetherThere(reply: Reply): Finding | undefined {
  if (isSilence(reply)) {
    return problem(CHECK, `The callback cannot be reached: ${reply.unreachable}.`, {
      effect: NO_PAGE,
      mend:
        reply.why === "nobody-listens" || reply.why === "unknown-host"
          ? "Serve the callback address where the application runs, or configure and register the one it has."
          : mendOfSilence(reply, "application"),
    });
  }
  const { status, url } = reply;
  if (status !== 404 && status !== 405) return inFrontOf(CHECK, reply);
  return problem(CHECK, `No route takes a GET at ${url.pathname}: it answers ${status}.`, {
    effect: "The retailer approves, and sees a page that says not found.",
    mend: `Add app.get("${url.pathname}", passport.authenticate("retail-pos", ...)), with the same path as in the callback address.`,
  });
}

function whetherRefused(seen: StrangersSeen, known: Known): Finding {
  const answer = seen.forged as Answer;
  const { status, location } = answer;
  if (isTraded(seen)) return traded();
  if (status >= 500) return failed(answer, known);
  if (location) return whetherLeadsOn(location, seen, known);
  if (status < 300) return takenForGood(seen);
  if (!known.isOwnClear && (status === 401 || status === 403) && isAnswerForAll(seen))
    return closed(`it answers ${status}`, known);
  return ok(CHECK, `A forged callback is refused with ${status}.`);
}

/** Its words say so; or it met, the second time, core's pause after a refused code (behaviour 7). */
function isTraded({ forged, forgedAgain }: StrangersSeen): boolean {
  const told = toldFailure(forged as Answer);
  if (["code_refused", "client_refused", "rate_limited", "token_endpoint_failed"].includes(told ?? ""))
    return true;
  if (!forgedAgain || isSilence(forgedAgain)) return false;
  const isLimited = ({ status, headers }: Answer) => status === 503 && headers.has("retry-after");
  return !isLimited(forged as Answer) && isLimited(forgedAgain);
}

function traded(): Finding {
  return problem("state-check", "A callback with a state that nobody was sent has its code traded.", {
    effect: "The retailer sees nothing, and another site can log the retailer's browser in as somebody else.",
    mend: "Check the state before the code is used (R2): the strategy and @retail-pos/login do. client.exchange() alone does not.",
  });
}

function failed(answer: Answer, known: Known): Finding {
  const message = `A forged callback ends in ${answer.status}.`;
  if (known.isWithoutCookie) return skipped(CHECK, message, COOKIE_FIRST);
  const effect = "A retailer whose login is too old, or who reloads the page, sees an error page.";
  if (toldFailure(answer) === "no_session") {
    const mend = "Put the session middleware before the callback's route too.";
    return problem(CHECK, `${message} The callback has no session.`, { effect, mend });
  }
  const said = errorSaid(answer);
  const mend =
    said === ""
      ? "Read the application's log. Usual reasons: a session store, or a state store of the strategy, that fails; no session middleware before the callback's route; a custom callback that does not look whether there is a user; a state that is not checked before the code is used; an error handler that knows no status."
      : "Look for that error in the application's log, which has its place too. Usual reasons: the session store, or a state store of the strategy, fails; a custom callback that does not look whether there is a user; a state that is not checked before the code is used.";
  return problem(CHECK, `${message}${said}`, { effect, mend });
}

function whetherLeadsOn(location: URL, { nowhere, forged }: StrangersSeen, known: Known): Finding {
  const { url } = forged as Answer;
  if (isOtherSpelling(location, url)) {
    return problem("callback-query", `The callback is redirected to ${shown(location)}, without its query.`, {
      effect: "The retailer approves, comes back, and the application finds neither code nor state.",
      mend: "Register and configure the address that it is redirected to; or let the redirect keep the query.",
    });
  }
  const isConsent = shown(location) === shown(known.request);
  if (isConsent && !known.isOwnClear) {
    return problem(CHECK, "The callback begins a new login instead of finishing one.", {
      effect: "A retailer goes round in circles between the application and the service.",
      mend: "Let the callback's route finish the login: check that its query reaches the application (a proxy may cut it off), and that a failed login ends on a page.",
    });
  }
  if (isConsent || shown(location) === shown(known.login)) {
    return warning(CHECK, "A forged callback starts another login at once.", {
      effect: "A retailer whose login fails goes round in circles between the application and the service.",
      mend: "Show a page with a link to try again instead.",
    });
  }
  const isForAll =
    nowhere && !isSilence(nowhere) && nowhere.location && shown(nowhere.location) === shown(location);
  if (isForAll && !known.isOwnClear) return closed(`it redirects to ${shown(location)}`, known);
  return ok(CHECK, "A forged callback is redirected elsewhere.");
}

function closed(how: string, { isWithoutCookie }: Known): Finding {
  const message = `The callback is closed: like every address, ${how}.`;
  if (isWithoutCookie) return skipped(CHECK, message, COOKIE_FIRST);
  return problem(CHECK, message, {
    effect: "The retailer approves, comes back, and is asked to log in to the application first.",
    mend: beforeTheDemand("the callback's route"),
  });
}

function isAnswerForAll({ forged, nowhere }: StrangersSeen): boolean {
  return nowhere !== undefined && !isSilence(nowhere) && isSamePage(nowhere, forged as Answer);
}

/** No page of its own tells a retailer, or a program, that a login failed by answering 200. */
function takenForGood(seen: StrangersSeen): Finding {
  const answer = seen.forged as Answer;
  const effect = "The retailer approves, and sees a page that has nothing to do with the login.";
  const message = `A forged callback is answered with ${answer.status}, as if all were well.`;
  const mend = isAnswerForAll(seen)
    ? "Every address is answered with this page, as single-page applications do: put the callback's route before that, and let the proxy or the development server pass it on to the server."
    : "Let the strategy handle this route; and answer a login that failed with 403, or with a redirect to a page that says so.";
  return problem(CHECK, message, { effect, mend });
}

function whetherSlow({ forged, withoutCookies }: StrangersSeen): Finding[] {
  if (!withoutCookies || isSilence(withoutCookies) || isSilence(forged)) return [];
  const [slow, fast] = [forged.tookMs, withoutCookies.tookMs];
  if (slow < TOO_SLOW_MS || fast > slow / 2) return [];
  const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} seconds`;
  const message = `The session store is slow: with the session's cookie the callback takes ${seconds(slow)}, without it ${seconds(fast)}.`;
  return [
    warning("session-store", message, {
      effect: "The retailer waits on every page, and presses buttons again.",
      mend: "Measure what the session store takes to load a session, and how far away its database is.",
    }),
  ];
}

/** The application's answer to somebody who declined; asked only if it has a callback route at all. */
function declinedRoute(reply: Reply): Finding[] {
  if (isSilence(reply)) return [];
  const { status } = reply;
  if (status < 500) return [ok("callback-declined", `Who declines is answered with ${status}.`)];
  return [
    problem(
      "callback-declined",
      `A callback with error=access_denied ends in ${status}.${errorSaid(reply)}`,
      {
        effect: "A retailer who declines sees an error page.",
        mend: "Handle the failure: give passport.authenticate a failureRedirect or a callback of your own.",
      },
    ),
  ];
}
