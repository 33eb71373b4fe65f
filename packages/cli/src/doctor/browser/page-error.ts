import { inPlainWords } from "@retail-pos/core/authoring";
import type { Answer } from "./browser-get.js";

/** Names that say nothing of the reason, as frameworks answer in production. */
const SAYS_NOTHING =
  /^(?:internal server error|error|unknown error|\[hidden\]|something (?:failed|went wrong))[.!]?$/i;
const LONGEST = 200;

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
    return typeof message === "string" ? { name: String(name), message } : undefined;
  } catch {
    return undefined;
  }
}

/** The first line of a stack: "TypeError: ..." at the beginning of a line of the page's text. */
function inStack(text: string): Shown | undefined {
  const page = text
    .replace(/<(style|script|title)\b[\s\S]*?<\/\1\s*>/gi, "")
    .replace(/<[^>]*>/g, "\n")
    .replace(/&(quot|#39|#x27|apos);/g, "'")
    .replace(/&nbsp;/g, " ");
  const [, name, message] =
    /^\s*(?:Uncaught )?((?:[A-Z]\w*)?(?:Error|Exception))(?: \[\w+\])?: (.+)$/m.exec(page) ?? [];
  return name !== undefined && message !== undefined ? { name, message } : undefined;
}
