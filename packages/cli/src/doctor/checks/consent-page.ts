import { isSilence, type Reply } from "../browser-get.js";
import { type Finding, ok, problem, warning } from "../finding.js";
import { isReadableOnTheWay, shown } from "../shown-address.js";

const CHECK = "consent-page";

/** What the service says to the authorization request: the first thing a retailer sees of it. */
export function consentPage(reply: Reply): Finding[] {
  return [...whetherReadable(reply.url), whetherShown(reply)];
}

function whetherShown(reply: Reply): Finding {
  if (isSilence(reply)) {
    return problem("service", `The service cannot be reached: ${reply.unreachable}.`, {
      effect: "The retailer sees an error page of the browser.",
      mend: "Check authUrl; for the sandbox, start it: npx @retail-pos/sandbox.",
    });
  }
  const { status, url } = reply;
  if (status < 400) return ok(CHECK, `The service answers this request with ${status}.`);
  if (status === 401 || status === 403 || status === 429) {
    return warning(
      CHECK,
      `The service answers this request with ${status}, perhaps because a program asks.`,
      {
        effect: "The retailer is refused, if browsers are answered the same.",
        mend: "Open the login in a browser.",
      },
    );
  }
  if (status >= 500) {
    return warning("service", `The service answers ${status}: it has trouble of its own.`, {
      effect: "The retailer sees an error page of the service.",
      mend: "Try again in a while.",
    });
  }
  return problem(CHECK, `The service refuses this request: ${shown(url)} answers ${status}.`, {
    effect: "The retailer sees the service's error page instead of its consent page.",
    mend: "Open the login in a browser and read what the page says; mostly client_id or redirect_uri is not as registered.",
  });
}

function whetherReadable(url: URL): Finding[] {
  if (!isReadableOnTheWay(url)) return [];
  return [
    problem("service-transport", `The consent page is asked for over plain http at ${url.host}.`, {
      effect: "The retailer sees a browser's warning at most, or the page of somebody in between.",
      mend: "Set authUrl to the https address of the service.",
    }),
  ];
}
