import type { Answer } from "../browser/browser-get.js";
import { isSignOn } from "../browser/login.js";
import { shown } from "../browser/shown-address.js";
import { type Finding, problem, warning } from "./finding.js";

/**
 * An answer that is not of the route that was asked, but of something in front of it: a password or a limit. Undefined
 * if it is neither.
 */
export function inFrontOf(check: string, answer: Answer): Finding | undefined {
  const { status, url } = answer;
  const at = shown(url);
  if (asksPassword(answer)) {
    return problem(
      "basic-auth",
      `${at} asks for a password (Basic authentication) before the application answers.`,
      {
        effect: "The retailer sees a window that asks for a user name and a password they do not have.",
        mend: "Take the login route and the callback out of the password protection; sessions keep the rest closed.",
      },
    );
  }
  if (status === 429) {
    return warning(
      check,
      `${at} answers 429: a limit of the application's own, or of a proxy's, is reached.`,
      {
        effect: "A retailer who logs in now is refused.",
        mend: "Wait until the limit is over, and run the doctor again; allow a login at least ten requests a minute.",
      },
    );
  }
  return undefined;
}

/** The mend of a route that only people who are logged in reach. With accounts it is as it has to be. */
export function beforeTheDemand(route: string): string {
  return (
    `Put ${route} before the middleware that demands a login. But if your people log in to accounts of their own ` +
    `and connect stores to them, leave it behind, and ${withACookie}.`
  );
}

/** Where an application with accounts of its own leads people who are not logged in. */
export function accountsFirst(check: string, way: readonly Answer[]): Finding | undefined {
  const answer = way.at(-1);
  if (!answer || !asksWho(way)) return undefined;
  return warning(
    check,
    `People log in to the application first, at ${shown(answer.location ?? answer.url)}.`,
    {
      effect:
        "Only people with an account reach the login with a store. What they see of it was not looked at.",
      mend:
        `If people connect stores to accounts of their own, this is as it has to be: ${withACookie}. ` +
        "If the store itself is the login, put the login route before the middleware that demands one.",
    },
  );
}

/** Cookies were given, and do not help. */
export function cookieOfNobody(check: string, way: readonly Answer[]): Finding | undefined {
  const answer = way.at(-1);
  if (!answer || !(asksWho(way) || isRefusal(answer))) return undefined;
  return problem(
    check,
    `The cookies that were given do not open the login: ${shown(answer.url)} still asks who it is.`,
    {
      effect: "What people with an account see was not looked at.",
      mend: "Log in to the application in a browser, and copy the Cookie header of a request from its developer tools.",
    },
  );
}

/**
 * A page with a password, or single sign-on: where the store is the login, nobody meets those. An e-mail address is
 * asked for by newsletters too, so it counts only on a page that stands in the login's way.
 */
function asksWho(way: readonly Answer[]): boolean {
  const answer = way.at(-1);
  if (!answer || answer.status >= 404) return false;
  if (isSignOn(answer) || hasInput(answer, "password")) return true;
  return hasInput(answer, "email") && (way.length > 1 || isRefusal(answer));
}

function isRefusal({ status }: Answer): boolean {
  return status === 401 || status === 403;
}

function hasInput({ text }: Answer, type: string): boolean {
  return new RegExp(`<input\\b[^>]*\\btype\\s*=\\s*["']?${type}\\b`, "i").test(text);
}

const withACookie = "run the doctor with the cookie of a browser that is logged in (--cookie-env)";

/** A proxy whose application is away. */
export function proxyAlone(check: string, { status, url }: Answer): Finding | undefined {
  if (status < 502 || status > 504) return undefined;
  return problem(
    check,
    `${shown(url)} answers ${status}: mostly a proxy whose application does not answer.`,
    {
      effect: "The retailer sees an error page of the proxy.",
      mend: "Check that the application runs, and that the proxy has its right port; then read the logs of both.",
    },
  );
}

/** RFC 7235, 4.1; browsers show a window for these schemes. */
export function asksPassword({ status, headers }: Answer): boolean {
  return status === 401 && /\b(?:basic|digest)\b/i.test(headers.get("www-authenticate") ?? "");
}
