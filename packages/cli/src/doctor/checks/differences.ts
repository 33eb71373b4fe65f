import { printable } from "../../terminal/output.js";

/** How two addresses differ, in words; empty if they are the same letter by letter. */
export function differences(registered: string, sent: string): string[] {
  if (registered === sent) return [];
  const [was, is] = [partsOf(registered), partsOf(sent)];
  return partNames.flatMap((part) => difference(part, was[part], is[part]));
}

const partNames = ["scheme", "host", "port", "path", "query", "fragment"] as const;
type Part = (typeof partNames)[number];

/** RFC 3986, appendix B. */
const PARTS = /^([^:/?#]*:)?(?:\/\/([^/?#]*))?([^?#]*)(\?[^#]*)?(#.*)?/s;

/** By its letters: a URL object would make one of two spellings, and the service compares letters. */
function partsOf(address: string): Record<Part, string> {
  const [, scheme = "", authority = "", path = "", query = "", fragment = ""] = PARTS.exec(address) ?? [];
  const [port = ""] = /:\d*$/.exec(authority) ?? [];
  return { scheme, host: authority.slice(0, authority.length - port.length), port, path, query, fragment };
}

function difference(part: Part, was: string, is: string): string[] {
  if (was === is) return [];
  if (part === "path" && `${was}/` === is) return ["a slash at the end too many"];
  if (part === "path" && was === `${is}/`) return ["a slash at the end too few"];
  if (was.toLowerCase() === is.toLowerCase()) return [`upper and lower case in the ${part}`];
  return [`the ${part}, ${printable(is) || "none"} instead of ${printable(was) || "none"}`];
}
