import type { RetailPosEvent } from "@retail-pos/core";

/** Where lines go: the console, or a framework's logger. */
export interface Log {
  info(line: string): void;
  warn(line: string): void;
}

/** Events that are bad news without an error of their own. */
const BAD_NEWS: readonly RetailPosEvent["type"][] = ["rate_limited", "reconnect_required"];

/** For `observe`: a line for each thing that happens to tokens. There is no secret in it. */
export function logEvents(log: Log = console): (event: RetailPosEvent) => void {
  return (event) => {
    const { type, domainPrefix = "unknown", at, error, ...details } = { error: undefined, ...event };
    const words = Object.entries(details).flatMap(([name, value]) => wordsFor(name, value));
    const line = [`retail-pos ${type} store=${domainPrefix}`, ...words].join(" ");
    if (error !== undefined) log.warn(`${line}: ${String(error).replaceAll(/\s+/g, " ")}`);
    else if (BAD_NEWS.includes(type)) log.warn(line);
    else log.info(line);
  };
}

/** Instants as people write them, whole milliseconds; what has fields of its own is left out. */
function wordsFor(name: string, value: unknown): string[] {
  if (name.endsWith("At")) return [`${name}=${new Date(value as number).toISOString()}`];
  if (name.endsWith("Ms")) return [`${name}=${Math.round(value as number)}`];
  return typeof value === "object" || value === undefined ? [] : [`${name}=${value}`];
}
