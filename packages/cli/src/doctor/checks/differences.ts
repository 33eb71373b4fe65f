import { printable } from "../../terminal/output.js";

/** RFC 3986, appendix B: by its letters, since a URL object would make one of two spellings. */
const PARTS =
  /^(?<scheme>[^:/?#]*:)?(?:\/\/(?<host>\[[^\]/?#]*\]|[^:/?#]*)(?<port>:[^/?#]*)?)?(?<path>[^?#]*)(?<query>\?[^#]*)?(?<fragment>#.*)?/s;

/** How two addresses differ, in words; empty if they are the same letter by letter, as the service compares them. */
export function differences(registered: string, sent: string): string[] {
  const [was, is] = [PARTS.exec(registered)?.groups, PARTS.exec(sent)?.groups];
  return Object.keys(is ?? {}).flatMap((part) => difference(part, was?.[part] ?? "", is?.[part] ?? ""));
}

function difference(part: string, was: string, is: string): string[] {
  if (was === is) return [];
  if (part === "path" && `${was}/` === is) return ["a slash at the end too many"];
  if (part === "path" && was === `${is}/`) return ["a slash at the end too few"];
  if (was.toLowerCase() === is.toLowerCase()) return [`upper and lower case in the ${part}`];
  return [`the ${part}, ${printable(is) || "none"} instead of ${printable(was) || "none"}`];
}
