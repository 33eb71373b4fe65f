import { printable } from "../../terminal/output.js";
import { type Answer, isSilence, type Reply } from "../browser/browser-get.js";
import { isReadableOnTheWay, shown } from "../browser/shown-address.js";
import type { Finding } from "../findings/finding.js";
import { found } from "../findings/messages.js";
import { mendOfSilence } from "../findings/silence.js";
import type { Probe } from "../probe.js";

/** What the service says to the authorization request: the first thing a retailer sees of it. */
export async function service({ request, ask, isBroken }: Probe): Promise<Finding[]> {
  if (!request) return [];
  const findings = isReadableOnTheWay(request) ? [found("service-transport", { host: request.host })] : [];
  return [...findings, consentPage(await ask(request), request.searchParams, isBroken)];
}

/** @param isBroken a problem of the request itself was found: then the service's refusal has its reason. */
export function consentPage(reply: Reply, query: URLSearchParams, isBroken: boolean): Finding {
  if (isSilence(reply))
    return found("service silent", { why: reply.unreachable, mend: mendOfSilence(reply, "service") });
  const { status, location } = reply;
  const error = location?.searchParams.get("error");
  if (location && error && shown(location) === callbackIn(query)) return sentBack(location, error, query);
  if (status < 400) return found("consent-page", { status });
  if (status === 403 || status === 429) return found("consent-page closed", { status });
  if (status >= 500) return found("service failing", { how: `it answers ${status}` });
  return refused(reply, isBroken);
}

function callbackIn(query: URLSearchParams): string | undefined {
  const address = query.get("redirect_uri") ?? "";
  return URL.canParse(address) ? shown(new URL(address)) : undefined;
}

/** RFC 6749, 4.1.2.1: back to the callback with an error, before anybody was asked. */
function sentBack({ searchParams: said }: URL, error: string, query: URLSearchParams): Finding {
  const isOurs = said.get("state") === query.get("state"); // else anybody may have written it
  const words = isOurs ? printable(said.get("error_description") ?? "") : "";
  const how = `error=${printable(error)}${words && ` (${words})`}`;
  const back = `The service sends the browser back at once, with ${how}.`;
  if (error === "server_error" || error === "temporarily_unavailable")
    return found("service failing", { how: `it sends the browser back with ${how}` });
  if (error !== "invalid_scope" && error !== "access_denied")
    return found("consent-page sent-back", { back });
  const [why, mend] = query.get("scope")
    ? [
        "It does not grant the scope that the login names.",
        "Compare the scope that the application sends, word by word, with those that it is registered for.",
      ]
    : [
        "The login names no scope, which some services demand.",
        'Name the scopes that the service wants: scope: "..." in the options of retailPos() or of the strategy (RETAIL_POS_SCOPE with settingsFromEnv).',
      ];
  return found("scope", { back, why, mend });
}

function refused({ status, url, text }: Answer, isBroken: boolean): Finding {
  const at = `${shown(url)} answers ${status}`;
  if (status === 404 || status === 405 || status === 410) return found("consent-page missing", { at });
  if (isBroken)
    return found("consent-page refused", {
      at,
      said: "",
      mend: "Fix the problems above; they are the reason.",
    });
  const named = Object.keys(MENDS).filter((name) => text.includes(name));
  const only = named.length === 1 ? named[0] : undefined;
  const said = only === undefined ? "" : ` Its page speaks of ${only}.`;
  const mend =
    (only && MENDS[only]) ??
    "Open the login in a browser and read what the page says; mostly client_id or redirect_uri is not as registered.";
  return found("consent-page refused", { at, said, mend });
}

/** By the one parameter that the service's page names. */
const MENDS: Readonly<Record<string, string>> = {
  redirect_uri:
    "Compare the callback address with the registered one letter by letter; --callback <registered address> lets the doctor do it.",
  client_id: "Copy the client_id from the application's registration.",
  scope: "Name the scopes that the service wants as scope.",
};
