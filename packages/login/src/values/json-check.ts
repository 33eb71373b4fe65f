import { bytesOf } from "./bytes.js";

/**
 * Refuses values that JSON would lose without a word: functions, symbols, big integers, NaN and infinity, instances of
 * classes without `toJSON`, circles.
 *
 * @param name what the application calls the value, for the message.
 * @returns the JSON; `undefined` for no value.
 * @throws {TypeError}
 */
export function checkJson(name: string, value: unknown): string | undefined {
  if (value === undefined) return undefined;
  try {
    return JSON.stringify(value, (_key, part: unknown) => {
      if (!isJson(part)) throw new TypeError("not JSON");
      return part;
    });
  } catch {
    throw new TypeError(`${name} must be a value that JSON can hold`);
  }
}

/** Bytes of UTF-8. A cookie holds 4 kB, and several logins may be under way. */
const LONGEST_IN_COOKIE = 1_500;

/**
 * The application's own state.
 *
 * @param longest bytes of UTF-8.
 * @throws {TypeError} JSON cannot hold it, or it is longer.
 */
export function checkAppState(state: unknown, longest: number = LONGEST_IN_COOKIE): void {
  const { length } = bytesOf(checkJson("state", state) ?? "");
  if (length > longest)
    throw new TypeError(`state must be at most ${longest} bytes of JSON; these are ${length}`);
}

function isJson(part: unknown): boolean {
  if (typeof part === "number") return Number.isFinite(part);
  if (typeof part !== "object" || part === null)
    return ["string", "boolean", "undefined", "object"].includes(typeof part);
  const prototype: unknown = Object.getPrototypeOf(part);
  // Another realm's plain objects have another realm's prototype.
  return Array.isArray(part) || prototype === null || Object.getPrototypeOf(prototype) === null;
}
