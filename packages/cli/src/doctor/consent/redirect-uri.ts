import { printable } from "../../terminal/output.js";
import { isReadableOnTheWay } from "../browser/shown-address.js";
import { type Finding, ok, problem, skipped, warning } from "../findings/finding.js";

const CHECK = "redirect-uri";

/** The callback address as the application sends it, against the one registered with the service (4.1). */
export function redirectUri(sent: string, registered: string | undefined): Finding[] {
  if (!isWebAddress(sent)) {
    return [
      problem(CHECK, `The callback address ${printable(sent)} is not a whole one.`, {
        effect: "The retailer sees the service's error page instead of its consent page.",
        mend: "Configure the address in full, from https:// on, as it is registered.",
      }),
    ];
  }
  return [...whetherPlain(sent), ...whetherReadable(new URL(sent)), whetherRegistered(sent, registered)];
}

export function isWebAddress(text: string): boolean {
  return URL.canParse(text) && /^https?:\/\//i.test(text);
}

/** How two addresses differ, in words; empty if they are the same letter by letter. */
export function differences(registered: string, sent: string): string[] {
  if (registered === sent) return [];
  const [was, is] = [partsOf(registered), partsOf(sent)];
  return partNames.flatMap((part) => difference(part, was[part], is[part]));
}

const partNames = ["scheme", "host", "port", "path", "query", "fragment"] as const;
type Part = (typeof partNames)[number];

/** By its letters: a URL object would make one of two spellings, and the service compares letters. */
function partsOf(address: string): Record<Part, string> {
  const [, scheme = "", host = "", port = "", path = "", query = "", fragment = ""] =
    /^([^:/?#]*:)?(?:\/\/(\[[^\]]*\]|[^:/?#]*))?(:[^/?#]*)?([^?#]*)(\?[^#]*)?(#.*)?$/s.exec(address) ?? [];
  return { scheme, host, port, path, query, fragment };
}

function difference(part: Part, was: string, is: string): string[] {
  if (was === is) return [];
  if (part === "path" && `${was}/` === is) return ["a slash at the end too many"];
  if (part === "path" && was === `${is}/`) return ["a slash at the end too few"];
  if (was.toLowerCase() === is.toLowerCase()) return [`upper and lower case in the ${part}`];
  return [`the ${part}, ${printable(is) || "none"} instead of ${printable(was) || "none"}`];
}

function whetherRegistered(sent: string, registered: string | undefined): Finding {
  const address = printable(sent);
  if (registered === undefined) {
    return skipped(
      CHECK,
      `The application's callback address is ${address}`,
      "Register exactly this, letter by letter; with --callback <registered address> the doctor compares the two.",
    );
  }
  const found = differences(registered, sent);
  if (found.length === 0) return ok(CHECK, `The callback address is the registered one, ${address}`);
  return problem(
    CHECK,
    `The callback address ${address} differs from the registered one in ${found.join(", and ")}.`,
    {
      effect: "The retailer sees the service's error page instead of its consent page.",
      mend: `Configure ${printable(registered)} in the application, or register the other: the service compares letter by letter.`,
    },
  );
}

function whetherPlain(sent: string): Finding[] {
  if (sent.includes("#")) {
    return [
      problem("redirect-uri-fragment", "The callback address has a fragment (#).", {
        effect: "The retailer sees the service's error page instead of its consent page.",
        mend: "Configure and register it without one (RFC 6749, 3.1.2).",
      }),
    ];
  }
  if (!sent.includes("?")) return [];
  return [
    warning("redirect-uri-query", "The callback address has a query of its own.", {
      effect: "The retailer sees the service's error page, unless exactly this query is registered.",
      mend: "Keep what the query says in the session, and send the plain address.",
    }),
  ];
}

function whetherReadable(url: URL): Finding[] {
  if (!isReadableOnTheWay(url)) return [];
  return [
    problem("redirect-uri-transport", `The callback is plain http at ${url.host}.`, {
      effect:
        "The retailer sees a browser's warning at most, and whoever reads along on the network sees the code and the session.",
      mend: "Serve the callback over https, and register that address; plain http is for localhost.",
    }),
  ];
}
