import { printable } from "../../terminal/output.js";
import { type Answer, isSilence, type Reply } from "../browser/browser-get.js";
import { isReadableOnTheWay, shown } from "../browser/shown-address.js";
import type { Finding } from "../findings/finding.js";
import { found, type MessageKey } from "../findings/messages.js";
import type { Probe } from "../probe.js";

/** What the service says to the authorization request: the first thing a retailer sees of it. */
export async function service({ request, ask, isBroken }: Probe): Promise<Finding[]> {
  if (!request) return [];
  const findings = isReadableOnTheWay(request) ? [found("service-transport", { host: request.host })] : [];
  return [...findings, consentPage(await ask(request), request.searchParams, isBroken)];
}

/** @param isBroken a problem of the request itself was found: then the service's refusal has its reason. */
export function consentPage(reply: Reply, query: URLSearchParams, isBroken: boolean): Finding {
  if (isSilence(reply)) return found("service silent", { why: reply.unreachable, mend: reply.mends.service });
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
  if (error === "server_error" || error === "temporarily_unavailable")
    return found("service failing", { how: `it sends the browser back with ${how}` });
  if (error !== "invalid_scope" && error !== "access_denied") return found("consent-page sent-back", { how });
  return found(query.get("scope") ? "scope not-granted" : "scope none", { how });
}

function refused({ status, url, text }: Answer, isBroken: boolean): Finding {
  const at = `${shown(url)} answers ${status}`;
  if (status === 404 || status === 405 || status === 410) return found("consent-page missing", { at });
  if (isBroken) return found("consent-page refused-after-problems", { at });
  const named = NAMED.filter(([name]) => text.includes(name));
  return found(named.length === 1 && named[0] ? named[0][1] : "consent-page refused", { at });
}

/** The parameters that the service's page may name. */
const NAMED: readonly [parameter: string, message: MessageKey][] = [
  ["redirect_uri", "consent-page redirect-uri"],
  ["client_id", "consent-page client-id"],
  ["scope", "consent-page scope"],
];
