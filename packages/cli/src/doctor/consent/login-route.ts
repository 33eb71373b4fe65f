import type { Answer } from "../browser/browser-get.js";
import type { Login } from "../browser/login.js";
import { errorSaid } from "../browser/page-error.js";
import { isReadableOnTheWay, shown } from "../browser/shown-address.js";
import { toldFailure } from "../browser/told-failure.js";
import { type Finding, ok, problem, warning } from "../findings/finding.js";
import {
  accountsFirst,
  beforeTheDemand,
  cookieOfNobody,
  inFrontOf,
  proxyAlone,
} from "../findings/refusing-answer.js";
import { mendOfSilence } from "../findings/silence.js";

const CHECK = "login-route";
/** People wait that long for a page before they press the button again. */
export const SLOW_MS = 2_000;

export interface LoginRouteOptions {
  readonly authUrl?: URL | undefined;
  /** The doctor came with the cookies of somebody who is logged in. */
  readonly hasAccount?: boolean;
}

/** Whether the login route sends the browser to `{auth_url}/connect` (4.1). */
export function loginRoute(
  { answers, request, silence }: Login,
  { authUrl, hasAccount }: LoginRouteOptions,
): Finding[] {
  if (silence) {
    const effect =
      silence.why === "too-late"
        ? "The retailer waits in front of an empty page."
        : "The retailer sees an error page of the browser.";
    const mend = mendOfSilence(silence, "application");
    return [problem(CHECK, `The login cannot be opened: ${silence.unreachable}.`, { effect, mend })];
  }
  const last = answers.at(-1);
  if (!last) return [];
  if (!request) {
    const accounts = hasAccount ? cookieOfNobody : accountsFirst;
    const known = inFrontOf(CHECK, last) ?? proxyAlone(CHECK, last) ?? accounts(CHECK, answers);
    return [known ?? wentElsewhere(last, answers.length)];
  }
  return [
    whetherConsentPage(request, authUrl),
    ...whetherReadable(last.url),
    ...whetherCached(last),
    ...whetherSlow(last),
  ];
}

function whetherConsentPage(request: URL, authUrl: URL | undefined): Finding {
  const expected = authUrl && `${shown(authUrl).replace(/\/+$/, "")}/connect`;
  if (/\/connect\/+connect$/.test(request.pathname)) {
    return problem(CHECK, `It redirects to ${shown(request)}, with /connect twice.`, {
      effect: "The retailer sees the service's error page instead of its consent page.",
      mend: "Take /connect off the end of authUrl; it is appended.",
    });
  }
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
function wentElsewhere(answer: Answer, count: number): Finding {
  const { url, status, location } = answer;
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
  if (status >= 500 || status === 400) return failed(answer, at); // 400: what the request says of its own address
  if (status >= 400) {
    return problem(CHECK, `${at}: the login route is closed to people who are not logged in.`, {
      effect: "The retailer is refused before any login was offered.",
      mend: beforeTheDemand("the login route"),
    });
  }
  if (status >= 300) {
    return problem(CHECK, `${at}, which is a redirect without a usable Location header.`, {
      effect: "The retailer sees an empty page.",
      mend: "Let the strategy answer the login route: it sets status and Location together.",
    });
  }
  const start =
    "give the doctor the address that starts the login; the strategy has to answer it with a redirect.";
  return problem(CHECK, `${at} with a page instead of a redirect to the consent page.`, {
    effect:
      "The retailer sees a page of the application, perhaps a login form of its own, and never the service's.",
    mend:
      count > 1
        ? `${beforeTheDemand("the login route")} If no such middleware redirects, ${start}`
        : `G${start.slice(1)}`,
  });
}

/** An application in development says on its error page why; one in production says it in its log. */
function failed(answer: Answer, at: string): Finding {
  const [why, mend] = reasonFor(answer);
  return problem(CHECK, `${at}: ${why}.${errorSaid(answer)}`, {
    effect: "The retailer sees the application's error page.",
    mend,
  });
}

function reasonFor(answer: Answer): [why: string, mend: string] {
  switch (toldFailure(answer)) {
    case "no_session":
      return [
        "the login has no session to keep its state in",
        "Put the session middleware, with its secret, before the login route and the callback. If it is there, its store is not connected, or its cookie is for another path.",
      ];
    case "no_strategy":
      return [
        "Passport does not know the strategy",
        "Call passport.use(new RetailPosStrategy(...)) on the same Passport object, and name it as it is registered.",
      ];
    case "callback_not_https":
      return [
        "the callback address is made from a request that came over plain http",
        'Behind a proxy that ends TLS, app.set("trust proxy", 1), on Koa app.proxy = true; or configure the callback address in full.',
      ];
    default:
      return [
        "starting a login fails in the application",
        errorSaid(answer) === ""
          ? `Read the application's log. Usual reasons: a session store, or a state store of the strategy, that fails; no session middleware before the login route; ${reasonOfScheme(answer.url)}.`
          : "Look for that error in the application's log, which has its place too. Usual reasons: the session store, or a state store of the strategy, fails or cannot be reached.",
      ];
  }
}

/** What Koa's session, and a relative callback address, refuse: a request that is not https, or seems not to be. */
function reasonOfScheme({ protocol }: URL): string {
  return protocol === "https:"
    ? 'a proxy that ends TLS, and an application that does not know it: let the proxy send X-Forwarded-Proto: https, and the application trust it, on Koa by app.proxy = true, on Express by app.set("trust proxy", 1)'
    : "over plain http a cookie marked Secure (Koa), or a relative callback address";
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

/** RFC 9111, 4.2.2: a 301 or 308 may be kept unless it says otherwise; a 302 only if it says so. */
function whetherCached({ status, headers }: Answer): Finding[] {
  const control = headers.get("cache-control") ?? "";
  const isKept = /\b(?:max-age|s-maxage)=0*[1-9]/i.test(control) || Number(headers.get("age") ?? 0) > 0;
  const isPermanent = (status === 301 || status === 308) && !/no-store|no-cache|max-age=0/i.test(control);
  if (/no-store/i.test(control) || !(isKept || isPermanent)) return [];
  const how = isPermanent
    ? `is a ${status}, which browsers keep`
    : "may be kept by caches (Cache-Control, Age)";
  return [
    problem("login-cached", `The redirect to the consent page ${how}: the next login repeats an old state.`, {
      effect:
        "The retailer's second login ends in a failure: its state was used already, or is another person's.",
      mend: "Answer the login route with 302 and Cache-Control: no-store, and take it out of every cache in front.",
    }),
  ];
}

function whetherSlow({ tookMs }: Answer): Finding[] {
  if (tookMs < SLOW_MS) return [];
  return [
    warning(
      "login-slow",
      `It took ${(tookMs / 1000).toFixed(1)} seconds to answer; mostly it is the session store that is slow.`,
      {
        effect: "The retailer waits, and presses the button again.",
        mend: "Measure what the session store takes to save a session, and whatever else stands before the login.",
      },
    ),
  ];
}
