import { printable } from "../../terminal/output.js";
import { type Answer, isSilence, type Reply } from "../browser/browser-get.js";
import { isReadableOnTheWay, shown } from "../browser/shown-address.js";
import { type Finding, ok, problem, warning } from "../findings/finding.js";
import { asksPassword } from "../findings/refusing-answer.js";
import { mendOfSilence } from "../findings/silence.js";

const CHECK = "consent-page";
const ERROR_PAGE = "The retailer sees the service's error page instead of its consent page.";

/** What the doctor knows of the request already. */
export interface Asked {
  /** The query that was sent. */
  readonly query: URLSearchParams;
  /** A problem of the request itself was found: then the service's refusal has its reason. */
  readonly isWrong: boolean;
}

/** What the service says to the authorization request: the first thing a retailer sees of it. */
export function consentPage(reply: Reply, asked: Asked): Finding[] {
  return [...whetherReadable(reply.url), whetherShown(reply, asked)];
}

function whetherShown(reply: Reply, asked: Asked): Finding {
  if (isSilence(reply)) {
    return problem("service", `The service cannot be reached: ${reply.unreachable}.`, {
      effect: "The retailer sees an error page of the browser.",
      mend: mendOfSilence(reply, "service"),
    });
  }
  const { status, location } = reply;
  const error = location?.searchParams.get("error");
  if (location && error && shown(location) === callbackIn(asked.query))
    return sentBack(location, error, asked.query);
  if (asksPassword(reply)) {
    return problem(
      "basic-auth",
      `The service asks for a password (Basic authentication) at ${shown(reply.url)}.`,
      {
        effect: "The retailer sees a window that asks for a user name and a password they do not have.",
        mend: "Check authUrl: this is no service for retailers, or one under test behind a password of its own.",
      },
    );
  }
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
  return refused(reply, asked);
}

function callbackIn(query: URLSearchParams): string | undefined {
  const address = query.get("redirect_uri") ?? "";
  return URL.canParse(address) ? shown(new URL(address)) : undefined;
}

/** RFC 6749, 4.1.2.1: back to the callback with an error, before anybody was asked. */
function sentBack({ searchParams: said }: URL, error: string, query: URLSearchParams): Finding {
  const isOurs = said.get("state") === query.get("state"); // else anybody may have written it
  const words = isOurs ? printable(said.get("error_description") ?? "") : "";
  const message = `The service sends the browser back at once, with error=${printable(error)}${words && ` (${words})`}.`;
  const effect = "The retailer is never asked, and sees the application's page for a login that failed.";
  const mayBeScopes = error === "invalid_scope" || error === "access_denied";
  if (mayBeScopes && !query.get("scope")) {
    const mend =
      'Name the scopes that the service wants: scope: "..." in the options of retailPos() or of the strategy (RETAIL_POS_SCOPE with settingsFromEnv).';
    return problem("scope", `${message} The login names no scope, which some services demand.`, {
      effect,
      mend,
    });
  }
  if (mayBeScopes) {
    const mend =
      "Compare the scope that the application sends, word by word, with those that it is registered for.";
    return problem("scope", `${message} It does not grant the scope that the login names.`, { effect, mend });
  }
  if (error === "server_error" || error === "temporarily_unavailable")
    return warning("service", message, { effect, mend: "Try again in a while." });
  const mend =
    "Look the error up in the service's documents (RFC 6749, 4.1.2.1); mostly the application's registration does not allow this login.";
  return problem(CHECK, message, { effect, mend });
}

function refused(answer: Answer, { isWrong }: Asked): Finding {
  const { status, url, text } = answer;
  const at = `${shown(url)} answers ${status}`;
  const add = (message: string, mend: string) => problem(CHECK, message, { effect: ERROR_PAGE, mend });
  if (status === 404 || status === 405 || status === 410) {
    return add(
      `There is no consent page at this address: ${at}.`,
      "Check the path of authUrl: it is what stands before /connect, and mostly it has none.",
    );
  }
  const message = `The service refuses this request: ${at}.`;
  if (isWrong) return add(message, "Fix the authorization request, see above; that is the reason.");
  const isAboutScope = /\bscopes?\b/i.test(text) && !/redirect_uri|client_id/.test(text);
  if (isAboutScope)
    return add(message, "Name the scopes that the service wants as scope; its page speaks of them.");
  if (/redirect_uri/.test(text) && !/client_id/.test(text)) {
    return add(
      `${message} Its page speaks of redirect_uri.`,
      "Compare the callback address with the registered one letter by letter; --callback <registered address> lets the doctor do it.",
    );
  }
  if (/client_id/.test(text) && !/redirect_uri/.test(text))
    return add(
      `${message} Its page speaks of client_id.`,
      "Copy the client_id from the application's registration.",
    );
  return add(
    message,
    "Open the login in a browser and read what the page says; mostly client_id or redirect_uri is not as registered.",
  );
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
