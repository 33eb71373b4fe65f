import { isRetailPosError } from "@retail-pos/core";
import { inPlainWords } from "@retail-pos/core/authoring";
import { isThrownByUs } from "./thrown-by-us.js";
import { WrongUse } from "./wrong-use.js";

/** An error in words of this command, which show no secret. Exit code 1. */
export class WordsOnly extends Error {}

/** Node says so of a module that it cannot find or load: names and paths, and nothing of what is in a file. */
const OF_THE_LOADER = /^(ERR_MODULE_NOT_FOUND|ERR_UNKNOWN_FILE_EXTENSION|ERR_PACKAGE_PATH_NOT_EXPORTED)$/;

/**
 * An error as it may be shown. Our own show no secret. What anybody else says may repeat a password or a token, so only
 * its plain words, its code and its place stay.
 */
export function wordsOf(error: unknown): string {
  const { code, message } = Object(error) as { code?: unknown; message?: unknown };
  const isShown =
    error instanceof WrongUse ||
    error instanceof WordsOnly ||
    isRetailPosError(error) ||
    OF_THE_LOADER.test(String(code)) ||
    (error instanceof TypeError && isThrownByUs(error)); // a setting that is wrong: it names the option
  if (isShown) return withoutPasswords(String(message));
  const { message: plain, code: plainCode } = inPlainWords(error) as Error & { code?: unknown };
  const place = placeOf(error);
  return [plain, plainCode === undefined ? "" : ` (${plainCode})`, place && `, at ${place}`].join("");
}

/** The user name and password of each address. */
function withoutPasswords(text: string): string {
  return text.replace(/:\/\/\S*@/g, "://[hidden]@");
}

/**
 * File and line in the application's own files: where a syntax error is, which Node puts before everything else, or the
 * first frame that is not of Node itself. Empty if the error does not tell.
 */
export function placeOf(error: unknown): string {
  const { stack } = Object(error) as { stack?: unknown };
  const ofSyntax = error instanceof SyntaxError && typeof stack === "string" ? syntaxPlaceIn(stack) : "";
  if (ofSyntax !== "") return ofSyntax;
  const frames = inPlainWords(error).stack ?? "";
  return /[\s(](?:file:\/\/)?(\/[^\s()]+:\d+:\d+)/.exec(frames)?.[1] ?? "";
}

/** Of Node's picture of a syntax error: its first line is "file:///app/retail-pos.js:12". */
export function syntaxPlaceIn(text: string): string {
  return /^(?:file:\/\/)?((?:\/|[A-Z]:\\).+:\d+)\r?\n/.exec(text)?.[1] ?? "";
}
