import { printable } from "../../terminal/output.js";
import { isReadableOnTheWay, isWebAddress } from "../browser/shown-address.js";
import type { Finding } from "../findings/finding.js";
import { found } from "../findings/messages.js";
import type { Probe } from "../probe.js";
import { differences } from "./differences.js";

/** The authorization request (4.1): its parameters, its state, and the callback address in it. */
export async function request({ request, target, loginOf, hasAccount }: Probe): Promise<Finding[]> {
  if (!request) return [];
  const query = request.searchParams;
  const second = (await loginOf(1)).request?.searchParams.get("state");
  const sent = query.get("redirect_uri");
  return [
    ...checkParameters(query, target.clientId),
    checkState(query.get("state"), second, hasAccount),
    ...(sent ? checkRedirectUri(sent, target.callback) : []),
  ];
}

function checkParameters(query: URLSearchParams, clientId: string | undefined): Finding[] {
  const names = [...query.keys()];
  const missing = ["response_type", "client_id", "redirect_uri"].filter((name) => !query.get(name));
  const repeated = [...new Set(names.filter((name, index) => names.indexOf(name) !== index))];
  const [type, sent] = [query.get("response_type"), query.get("client_id")];
  const findings: Finding[] = [];
  const add = (...finding: Parameters<typeof found>) => findings.push(found(...finding));
  if (missing.length > 0) add("authorization-request missing", { names: missing.join(" and no ") });
  if (repeated.length > 0)
    add("authorization-request repeated", { names: printable(repeated.join(" and ")) });
  if (type && type !== "code") add("authorization-request no-code", { type: printable(type) });
  if (sent && clientId !== undefined && sent !== clientId)
    add("client-id", { sent: printable(sent), expected: printable(clientId) });
  if (query.has("client_secret")) add("client-secret-shown");
  return findings.length > 0 ? findings : [found("authorization-request")];
}

/** 4.1. */
const LEAST_LENGTH = 8;
/** 96 bits in base64url: what is shorter can hardly be as random as RFC 6749, 10.10 asks. */
const COMFORTABLE_LENGTH = 16;

/**
 * The states of two logins by two people who were never here before (R2). `second`: undefined if that login got
 * nowhere. `isOneSession`: both are of one person, who is logged in.
 */
export function checkState(
  first: string | null,
  second: string | null | undefined,
  isOneSession = false,
): Finding {
  if (!first) return found("state missing");
  const length = [...first].length;
  if (length < LEAST_LENGTH) return found("state short", { length, least: LEAST_LENGTH });
  if (second === undefined) return found("state alone");
  if (first === second)
    return isOneSession
      ? found("state guessable", { how: "is the same in two logins" })
      : found("state same");
  if (/^\d+$/.test(first))
    return found("state guessable", { how: "is a number, perhaps a clock or a counter" });
  if (length < COMFORTABLE_LENGTH) return found("state guessable", { how: `has only ${length} characters` });
  return found("state", { length });
}

/** The callback address as the application sends it, against the one registered with the service. */
export function checkRedirectUri(sent: string, registered: string | undefined): Finding[] {
  const address = printable(sent);
  if (!isWebAddress(sent)) return [found("redirect-uri partial", { address })];
  const url = new URL(sent);
  const findings: Finding[] = [];
  if (sent.includes("#")) findings.push(found("redirect-uri-fragment"));
  else if (sent.includes("?")) findings.push(found("redirect-uri-query"));
  if (isReadableOnTheWay(url)) findings.push(found("redirect-uri-transport", { host: url.host }));
  if (registered === undefined) return [...findings, found("redirect-uri unknown", { address })];
  const how = differences(registered, sent).join(", and ");
  const differs = found("redirect-uri differs", { address, how, registered: printable(registered) });
  return [...findings, how === "" ? found("redirect-uri", { address }) : differs];
}
