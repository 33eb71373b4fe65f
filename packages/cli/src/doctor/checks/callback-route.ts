import { isSilence, type Reply } from "../browser-get.js";
import { type Finding, ok, problem, warning } from "../finding.js";
import { shown } from "../shown-address.js";

/** A callback that cannot be the service's: nobody was ever sent its state, so no code in it may be used (R2). */
export function forgedCallback(callback: URL, domainPrefix: string, state: string): URL {
  return withQuery(callback, { code: "made-up-by-the-doctor", domain_prefix: domainPrefix, state });
}

/** The callback of somebody who declined (2.3). */
export function declinedCallback(callback: URL): URL {
  return withQuery(callback, { error: "access_denied" });
}

/** What the application says to a forged callback; `starts` are the addresses that a login begins at. */
export function callbackRoute(reply: Reply, starts: readonly URL[]): Finding {
  if (isSilence(reply)) {
    return problem("callback-route", `The callback cannot be reached: ${reply.unreachable}.`, {
      effect: "The retailer approves, and sees an error page of the browser.",
      mend: "Serve the callback address where the application runs, or configure and register the one it has.",
    });
  }
  const { status, location, url } = reply;
  if (status === 404 || status === 405) {
    return problem("callback-route", `No route takes a GET at ${url.pathname}: it answers ${status}.`, {
      effect: "The retailer approves, and sees a page that says not found.",
      mend: `Add app.get("${url.pathname}", passport.authenticate("retail-pos", ...)), with the same path as in the callback address.`,
    });
  }
  if (status >= 500) {
    return problem("callback-route", `A forged callback ends in ${status}.`, {
      effect: "A retailer whose login is too old, or who reloads the page, sees an error page.",
      mend: "Read the application's log: the state is not checked before the code is used, or the failure has no handler.",
    });
  }
  if (location && starts.some((start) => shown(start) === shown(location))) {
    return warning("callback-route", "A forged callback starts another login at once.", {
      effect: "A retailer whose login fails goes round in circles between the application and the service.",
      mend: "Show a page with a link to try again instead.",
    });
  }
  if (status < 300) {
    return warning("callback-route", `A forged callback is answered with ${status}, as if all were well.`, {
      effect: "The retailer approves, and may see a page that has nothing to do with the login.",
      mend: "Check that the strategy handles this route; answer a failed login with 403.",
    });
  }
  return ok(
    "callback-route",
    location ? "A forged callback is redirected elsewhere." : `A forged callback is refused with ${status}.`,
  );
}

/** The application's answer to somebody who declined; asked only if it has a callback route at all. */
export function declinedRoute(reply: Reply): Finding[] {
  if (isSilence(reply)) return [];
  const { status } = reply;
  if (status < 500) return [ok("callback-declined", `Who declines is answered with ${status}.`)];
  return [
    problem("callback-declined", `A callback with error=access_denied ends in ${status}.`, {
      effect: "A retailer who declines sees an error page.",
      mend: "Handle the failure: give passport.authenticate a failureRedirect or a callback of your own.",
    }),
  ];
}

function withQuery(callback: URL, parameters: Record<string, string>): URL {
  const url = new URL(callback);
  for (const [name, value] of Object.entries(parameters)) url.searchParams.append(name, value);
  return url;
}
