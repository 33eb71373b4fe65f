import { fileURLToPath } from "node:url";
import { isRetailPosError } from "@retail-pos/core";
import { inPlainWords } from "@retail-pos/core/authoring";
import { WrongUse } from "./wrong-use.js";

/** Of settings, and of the first of PostgreSQL's tables: no secrets. */
const NAMES =
  /\b(?:RETAIL_POS_[A-Z_]{3,20}|DATABASE_URL)\b|(?<=^PostgreSQL could not create the tables )\S{1,130}/g;

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
    OF_THE_LOADER.test(String(code));
  if (isShown) return withoutPasswords(String(message));
  const { message: plain, code: plainCode } = inPlainWords(error) as Error & { code?: unknown };
  const settings = [...new Set(String(message).match(NAMES))].join(", ");
  const details = [plainCode ?? "", settings].filter(Boolean).map((detail) => ` (${detail})`);
  const place = placeOf(error);
  return [plain, ...details, place && `, at ${place}`].join("");
}

/** The user name and password of each address. */
function withoutPasswords(text: string): string {
  return text.replace(/:\/\/\S*@/g, "://[hidden]@");
}

/** Where this command's own files are. */
const OWN = fileURLToPath(new URL("..", import.meta.url));

/** File and line of the first frame in the application's own files; empty if the error does not tell. */
function placeOf(error: unknown): string {
  const frames = (inPlainWords(error).stack ?? "").matchAll(/[\s(](?:file:\/\/)?(\/[^\s()]+:\d+:\d+)/g);
  const places = Array.from(frames, ([, place = ""]) => place);
  return places.find((place) => !place.includes("/node_modules/") && !place.startsWith(OWN)) ?? "";
}
