const UNITS: [name: string, ms: number, until: number][] = [
  ["s", 1000, 60_000],
  ["min", 60_000, 3_600_000],
  ["h", 3_600_000, 48 * 3_600_000],
  ["d", 86_400_000, Number.POSITIVE_INFINITY],
];

/** A step of the runbooks compares instants that lie a minute apart. */
const CLOSE_MS = 15 * 60_000;

/** A length of time in one number and one unit: "3 h". In the last minutes with the seconds: "2 min 5 s". */
export function lengthOf(ms: number): string {
  const length = Math.abs(ms);
  if (length >= 60_000 && length < CLOSE_MS)
    return `${Math.floor(length / 60_000)} min ${Math.floor((length % 60_000) / 1000)} s`;
  const [name, unit] = UNITS.find(([, , until]) => length < until) ?? ["d", 86_400_000];
  return `${grouped(Math.floor(length / unit))} ${name}`;
}

/** Day and minute as the clock on the wall has them: "2026-11-22 10:05". */
export function localTime(at: number): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return String(at);
  const two = (number: number) => String(number).padStart(2, "0");
  const day = [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join("-");
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`;
}

/** The same with the second, where that counts: in the last minutes before and after it. */
export function closeTime(at: number, now: number): string {
  const isClose = Math.abs(at - now) < CLOSE_MS;
  return isClose ? `${localTime(at)}:${String(new Date(at).getSeconds()).padStart(2, "0")}` : localTime(at);
}

/** For machines: ISO 8601 in UTC. */
export function isoTime(at: number): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? String(at) : date.toISOString();
}

/** "12,345". */
export function grouped(number: number): string {
  return number.toLocaleString("en-US");
}
