import { inPlainWords } from "@retail-pos/core/authoring";
import type { Answer } from "./browser-get.js";

// Whatever a page holds, reading it takes time in proportion to its length: it is split at "<" and at line ends, and
// every expression begins at the beginning of a piece.

/** Names that say nothing of the reason, as frameworks answer in production. */
const SAYS_NOTHING =
  /^(?:internal server error|error|unknown error|\[hidden\]|something (?:failed|went wrong))[.!]?$/i;
const LONGEST = 200;
const LONGEST_LINE = 2_000;

/**
 * The error that a failing application shows on its page, as a sentence to stand behind another one; empty if it shows
 * none. The page may repeat secrets that nobody here knows, so only plain words stay: "[hidden]" stands for the rest.
 */
export function errorSaid(answer: Answer): string {
  const error = inJson(answer.text) ?? inStack(answer.text);
  if (error === undefined) return "";
  const { name, message } = inPlainWords(error);
  if (SAYS_NOTHING.test(message.trim())) return "";
  return ` Its page says: "${`${name}: ${message}`.slice(0, LONGEST)}".`;
}

/** Whether a page has a field of this type. */
export function hasInput({ text }: Answer, type: "email" | "password"): boolean {
  const isOfType = new RegExp(`\\btype\\s*=\\s*["']?${type}\\b`, "i");
  return text
    .split("<")
    .some((piece) => /^input\b/i.test(piece) && isOfType.test(piece.split(">", 1)[0] ?? ""));
}

interface Shown {
  readonly name: string;
  readonly message: string;
}

/** Of a framework that answers in JSON: `message`, there or in `error`. */
function inJson(text: string): Shown | undefined {
  if (!/^\s*\{/.test(text)) return undefined;
  try {
    const body = JSON.parse(text);
    const { name = "Error", message } = typeof body.error === "object" ? Object(body.error) : body;
    if (typeof message !== "string") return undefined;
    return { name: String(name).slice(0, LONGEST), message: message.slice(0, LONGEST_LINE) };
  } catch {
    return undefined;
  }
}

/** The first line of a stack: "TypeError: ..." at the beginning of a line of the page's text. */
function inStack(text: string): Shown | undefined {
  const [first = "", ...pieces] = text.split("<");
  const shown = pieces.filter((piece) => !/^(?:style|script|title)\b/i.test(piece));
  const page = [first, ...shown.map((piece) => piece.slice(piece.indexOf(">") + 1))].join("\n");
  for (const line of page
    .replace(/&(?:quot|#39|#x27|apos);/g, "'")
    .replace(/&nbsp;/g, " ")
    .split("\n")) {
    const words = line.slice(0, LONGEST_LINE).trim();
    const [, name, message] =
      /^(?:Uncaught )?((?:[A-Z]\w*)?(?:Error|Exception))(?: \[\w+\])?: (.+)$/.exec(words) ?? [];
    if (name !== undefined && message !== undefined) return { name, message };
  }
  return undefined;
}
