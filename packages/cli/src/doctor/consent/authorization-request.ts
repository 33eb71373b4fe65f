import { printable } from "../../terminal/output.js";
import { type Finding, ok, problem } from "../findings/finding.js";

const CHECK = "authorization-request";

/** The parameters of 4.1 but for `state` and the value of `redirect_uri`, which are checked on their own. */
export function authorizationRequest(query: URLSearchParams, clientId: string | undefined): Finding[] {
  const findings = [
    ...whetherAllThere(query),
    ...whetherOnce(query),
    ...whetherCode(query.get("response_type")),
    ...whetherThisClient(query.get("client_id"), clientId),
    ...whetherSecret(query),
  ];
  if (findings.length > 0) return findings;
  return [ok(CHECK, "response_type, client_id and redirect_uri are there, each once.")];
}

function whetherAllThere(query: URLSearchParams): Finding[] {
  const missing = ["response_type", "client_id", "redirect_uri"].filter((name) => !query.get(name));
  if (missing.length === 0) return [];
  return [
    problem(CHECK, `The authorization request has no ${missing.join(" and no ")}.`, {
      effect: "The retailer sees the service's error page instead of its consent page.",
      mend: "Check that the settings reach the strategy: a setting that is undefined leaves its parameter out.",
    }),
  ];
}

function whetherOnce(query: URLSearchParams): Finding[] {
  const repeated = repeatedNames(query);
  if (repeated.length === 0) return [];
  return [
    problem(CHECK, `The authorization request has ${printable(repeated.join(" and "))} more than once.`, {
      effect: "The retailer sees the service's error page instead of its consent page.",
      mend: "Keep authUrl free of a query; the strategy adds every parameter.",
    }),
  ];
}

function whetherCode(responseType: string | null): Finding[] {
  if (!responseType || responseType === "code") return [];
  return [
    problem(CHECK, `response_type is "${printable(responseType)}"; the service knows "code" alone.`, {
      effect: "The retailer sees the service's error page instead of its consent page.",
      mend: "Send response_type=code.",
    }),
  ];
}

function whetherThisClient(sent: string | null, clientId: string | undefined): Finding[] {
  if (!sent || clientId === undefined || sent === clientId) return [];
  return [
    problem("client-id", `client_id is "${printable(sent)}", not "${printable(clientId)}".`, {
      effect: "The retailer sees the service's error page, or is asked about another application.",
      mend: "Check which settings the running application was started with.",
    }),
  ];
}

function whetherSecret(query: URLSearchParams): Finding[] {
  if (!query.has("client_secret")) return [];
  return [
    problem("client-secret-shown", "The authorization request carries the client secret, in an address.", {
      effect: "The retailer sees nothing, and has the secret in the browser's history.",
      mend: "Remove it, and have a new client secret issued: this one is no secret any more.",
    }),
  ];
}

/** Each name that comes more than once, once. */
function repeatedNames(parameters: URLSearchParams): string[] {
  const names = [...parameters.keys()];
  return [...new Set(names.filter((name, index) => names.indexOf(name) !== index))];
}
