import { bytesOf } from "./bytes.js";

/** Bytes of UTF-8. A cookie holds 4 kB, and several logins may be under way. */
const LONGEST_IN_COOKIE = 1_500;

/**
 * The application's own state. Refuses what JSON would lose without a word: functions, symbols, big integers, NaN and
 * infinity, instances of classes without `toJSON`, circles.
 *
 * @param longest bytes of JSON in UTF-8.
 * @throws {TypeError} JSON cannot hold it, or it is longer.
 */
export function checkAppState(state: unknown, longest: number = LONGEST_IN_COOKIE): void {
  const { length } = bytesOf(jsonOf(state) ?? "");
  if (length > longest)
    throw new TypeError(`state must be at most ${longest} bytes of JSON; these are ${length}`);
}

function jsonOf(state: unknown): string | undefined {
  try {
    return JSON.stringify(state, (_key, part: unknown) => {
      if (!isJson(part)) throw new TypeError("not JSON");
      return part;
    });
  } catch {
    throw new TypeError("state must be a value that JSON can hold");
  }
}

/** Whether JSON can hold a value, apart from what is in it. */
export function isJson(part: unknown): boolean {
  if (typeof part === "number") return Number.isFinite(part);
  if (typeof part !== "object" || part === null)
    return ["string", "boolean", "undefined", "object"].includes(typeof part);
  const prototype: unknown = Object.getPrototypeOf(part);
  // Another realm's plain objects have another realm's prototype.
  return Array.isArray(part) || prototype === null || Object.getPrototypeOf(prototype) === null;
}
