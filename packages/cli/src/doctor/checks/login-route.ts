import type { Answer } from "../browser-get.js";
import { type Finding, ok, problem } from "../finding.js";
import type { Login } from "../login.js";
import { isReadableOnTheWay, shown } from "../shown-address.js";

const CHECK = "login-route";

/** Whether the login route sends the browser to `{auth_url}/connect` (4.1). */
export function loginRoute({ answers, request, silence }: Login, authUrl: URL | undefined): Finding[] {
  if (silence) {
    const effect = "The retailer sees an error page of the browser.";
    const mend = "Start the application, and open this address in a browser of this machine.";
    return [problem("login-route", `The login cannot be opened: ${silence.unreachable}.`, { effect, mend })];
  }
  const last = answers.at(-1);
  if (!last) return [];
  if (!request) return [wentElsewhere(last, answers.length)];
  return [whetherConsentPage(request, authUrl), ...whetherReadable(last.url)];
}

function whetherConsentPage(request: URL, authUrl: URL | undefined): Finding {
  const expected = authUrl && `${shown(authUrl).replace(/\/+$/, "")}/connect`;
  const isRight = expected ? shown(request) === expected : request.pathname.endsWith("/connect");
  if (isRight) return ok(CHECK, `It redirects to the consent page, ${shown(request)}.`);
  return problem(
    CHECK,
    `It redirects to ${shown(request)}; the consent page is ${expected ?? "{auth_url}/connect"}.`,
    {
      effect: "The retailer sees an error page, or a login that is not the service's.",
      mend: "Give the library the address of the consent server alone as authUrl; it appends /connect itself.",
    },
  );
}

/** The browser stays in the application: what each answer usually means. */
function wentElsewhere({ url, status, location }: Answer, count: number): Finding {
  const at = count > 1 ? `It redirects to ${shown(url)}, which answers ${status}` : `It answers ${status}`;
  if (location) {
    return problem(CHECK, "It redirects from page to page and never to the consent page.", {
      effect: "The retailer sees the browser's page about too many redirects.",
      mend: "Let the login route start the login before anything asks whether somebody is logged in.",
    });
  }
  if (status === 404 || status === 405) {
    return problem(CHECK, `${at}: no route takes a GET there.`, {
      effect: "The retailer sees a page that says not found.",
      mend: 'Give the doctor the address that your "Log in" link opens, or add the route with passport.authenticate("retail-pos").',
    });
  }
  if (status >= 500) {
    return problem(CHECK, `${at}: starting a login fails in the application.`, {
      effect: "The retailer sees the application's error page.",
      mend: "Read the application's log. Usual reasons: no session middleware before the login route, or a cookie marked Secure over plain http.",
    });
  }
  if (status >= 400) {
    return problem(CHECK, `${at}: the login route is closed to people who are not logged in.`, {
      effect: "The retailer is refused before any login was offered.",
      mend: "Put the login route before the middleware that demands a login.",
    });
  }
  if (status >= 300) {
    return problem(CHECK, `${at}, which is a redirect without a usable Location header.`, {
      effect: "The retailer sees an empty page.",
      mend: "Let the strategy answer the login route: it sets status and Location together.",
    });
  }
  return problem(CHECK, `${at} with a page instead of a redirect to the consent page.`, {
    effect:
      "The retailer sees a page of the application, perhaps a login form of its own, and never the service's.",
    mend: "Give the doctor the address that starts the login; the strategy has to answer it with a redirect.",
  });
}

function whetherReadable(url: URL): Finding[] {
  if (!isReadableOnTheWay(url)) return [];
  return [
    problem("login-transport", `The login is served over plain http at ${url.host}.`, {
      effect:
        "The retailer sees a browser's warning at most, and whoever reads along on the network can take the session.",
      mend: "Serve the application over https; plain http is for localhost.",
    }),
  ];
}
