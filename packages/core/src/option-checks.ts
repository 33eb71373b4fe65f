/** The end of a message about an option that has to be given: where `settingsFromEnv` would take it from. */
export function ifNone(value: unknown, option: string): string {
  return value === undefined ? `; none was given (settingsFromEnv() reads ${variableOf(option)})` : "";
}

/** `RETAIL_POS_CLIENT_ID` for `clientId`. */
export function variableOf(option: string): string {
  return `RETAIL_POS_${option.replace(/[A-Z]+/g, "_$&").toUpperCase()}`;
}

/** @throws {TypeError} naming the option: its text contains the end of the line that it was read from. */
export function refuseLineBreak(option: string, text: string): void {
  if (/[\r\n]/.test(text))
    throw new TypeError(`${option} must not contain a line break; read from a file, it needs .trim()`);
}

/** A value of the wrong kind, in words that do not show it. */
export function kindOf(value: unknown): string {
  if (value === undefined || value === null || typeof value === "boolean") return String(value);
  if (value === "") return "an empty text";
  if (typeof value === "string") return "a text";
  if (Array.isArray(value)) return "a list";
  if (value instanceof Promise) return "a promise";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
