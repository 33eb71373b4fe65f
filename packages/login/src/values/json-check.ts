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

function isJson(part: unknown): boolean {
  if (typeof part === "number") return Number.isFinite(part);
  if (typeof part !== "object" || part === null)
    return ["string", "boolean", "undefined", "object"].includes(typeof part);
  const prototype: unknown = Object.getPrototypeOf(part);
  // Another realm's plain objects have another realm's prototype.
  return Array.isArray(part) || prototype === null || Object.getPrototypeOf(prototype) === null;
}
