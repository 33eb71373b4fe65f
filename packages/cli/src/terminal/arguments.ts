import { type ParseArgsConfig, parseArgs } from "node:util";
import { type DomainPrefix, isRetailPosError, parseDomainPrefix } from "@retail-pos/core";
import { WrongUse } from "./wrong-use.js";

type Flags = NonNullable<ParseArgsConfig["options"]>;
type Parsed<F extends Flags> = ReturnType<
  typeof parseArgs<{ options: F; strict: true; allowPositionals: true; args: string[] }>
>;

/** Flags that every command with an application takes. */
export const APPLICATION_FLAGS = {
  client: { type: "string" },
  json: { type: "boolean" },
  help: { type: "boolean", short: "h" },
} as const;

/** @throws {WrongUse} saying which flag is wrong, and no value. */
export function readArguments<F extends Flags>(args: string[], options: F): Parsed<F> {
  try {
    return parseArgs({ args, options, strict: true, allowPositionals: true });
  } catch (error) {
    throw new WrongUse((error as Error).message.split(". ")[0] as string);
  }
}

/** @throws {WrongUse} as above; or there are words that are no flags. */
export function readFlags<F extends Flags>(args: string[], options: F): Parsed<F>["values"] {
  const { values, positionals } = readArguments(args, options);
  if (positionals.length === 0) return values;
  throw new WrongUse("this command takes flags only, and a word that is none was given");
}

/** @throws {WrongUse} one of them is no label; none is repeated, since it may be anything. */
export function domainPrefixesIn(words: readonly string[]): DomainPrefix[] {
  const prefixes = words.map((word, index) => {
    try {
      return parseDomainPrefix(word);
    } catch (error) {
      if (!isRetailPosError(error)) throw error;
      const which = words.length > 1 ? ` (number ${index + 1})` : "";
      throw new WrongUse(`${error.message}${which}`);
    }
  });
  return [...new Set(prefixes)];
}

/** @throws {WrongUse} */
export function wholeNumberIn(flag: string, text: string, most: number): number {
  if (/^[1-9]\d{0,8}$/.test(text) && Number(text) <= most) return Number(text);
  throw new WrongUse(`${flag} must be a whole number from 1 to ${most}`);
}

/**
 * Scopes with spaces between, as `scope` has them (RFC 6749, 3.3).
 *
 * @throws {WrongUse}
 */
export function scopesIn(flag: string, text: string): string[] {
  const scopes = text.split(/\s+/).filter(Boolean);
  if (scopes.length === 0 || !scopes.every((scope) => /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope)))
    throw new WrongUse(`${flag} must be scopes with spaces between: "products:read sales:read"`);
  return scopes;
}

const UNITS = { s: 1000, m: 60_000, min: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * A length of time, in milliseconds: "30s", "45m", "1h", "2d"; or "today", the time until midnight here.
 *
 * @throws {WrongUse}
 */
export function lengthIn(flag: string, text: string, now: number): number {
  if (text === "today") return new Date(now).setHours(24, 0, 0, 0) - now;
  const [, number, unit] = /^(\d{1,6})(s|m|min|h|d)$/.exec(text) ?? [];
  if (number === undefined)
    throw new WrongUse(`${flag} must be a length of time: 30s, 45m, 1h, 2d, or today`);
  return Number(number) * UNITS[unit as keyof typeof UNITS];
}

const ISO = /^(\d{4})-(\d{2})-(\d{2})(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2})?)?$/;

/**
 * An instant in epoch milliseconds: of an ISO 8601 date or time, local if it names no zone, or of 13 digits, so that
 * seconds are not taken for milliseconds of 1970.
 *
 * @throws {WrongUse}
 */
export function instantIn(flag: string, text: string): number {
  if (/^\d{13}$/.test(text)) return Number(text);
  const [, year, month, day, time = "T00:00"] = ISO.exec(text) ?? [];
  const at = Date.parse(`${year}-${month}-${day}${time}`);
  const isOfMonth =
    new Date(Date.UTC(Number(year), Number(month) - 1, Number(day))).getUTCDate() === Number(day);
  if (Number.isNaN(at) || !isOfMonth)
    throw new WrongUse(
      `${flag} must be an instant: 2026-01-31, 2026-01-31T18:00, 2026-01-31T18:00:00Z, or epoch milliseconds (13 digits)`,
    );
  return at;
}
