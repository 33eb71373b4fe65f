import type { Answer } from "../browser-get.js";
import { type Finding, problem, warning } from "../finding.js";
import { shown } from "../shown-address.js";

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
    "and connect stores to them, leave it behind: the doctor has no account, and sees no further."
  );
}

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
