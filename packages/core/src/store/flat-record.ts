import { type RetailerStatus, retailerStatus } from "../vocabulary/retailer-status.js";
import type { TokenSet } from "../vocabulary/token-set.js";

/** The fields of a token set where each stands by itself, as in a hash. */
export const FIELDS = [
  "domainPrefix",
  "accessToken",
  "expiresAt",
  "refreshToken",
  "issuedAt",
  "version",
  "refusedAt",
  "refusedEarlyAt",
  "limitedUntil",
  "scope",
] as const;

/** The same as columns of a table: `domain_prefix`, `access_token`. */
export const COLUMNS: readonly string[] = FIELDS.map(columnOf);

/** As a database gives it: instants as numbers, big integers or texts; what is missing as `null` or not at all. */
export type FlatRecord = Readonly<Record<string, unknown>>;

/** The column of a field. */
export function columnOf(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** The values of a token set, in the order of {@link FIELDS}; `null` for those that it lacks. */
export function flatRecord({ access, ...set }: TokenSet): (string | number | null)[] {
  const all: FlatRecord = { ...set, accessToken: access.value, expiresAt: access.expiresAt };
  return FIELDS.map((field) => (all[field] ?? null) as string | number | null);
}

/** The token set in a record. It is not checked here: core checks each set that it loads. */
export function setInFlatRecord(record: FlatRecord): TokenSet {
  const { accessToken, ...given } = asGiven(record);
  const { expiresAt, ...set } = given;
  return { ...set, access: { value: accessToken, ...("expiresAt" in given && { expiresAt }) } } as TokenSet;
}

/** One entry of a store's `list`. Core checks it, too. */
export function statusInFlatRecord(record: FlatRecord): RetailerStatus {
  return retailerStatus(asGiven(record));
}

/** The fields that are there, instants as numbers; NaN for what is none, so that core names the field. */
function asGiven(record: FlatRecord): FlatRecord {
  const given = FIELDS.filter((field) => record[field] !== null && record[field] !== undefined);
  return Object.fromEntries(
    given.map((field) => [field, /At$|Until$/.test(field) ? instant(record[field]) : record[field]]),
  );
}

function instant(value: unknown): number {
  const isNumber = typeof value === "number" || typeof value === "bigint";
  return isNumber || /^-?\d+(\.\d+)?(e[+-]?\d+)?$/.test(String(value)) ? Number(value) : Number.NaN;
}
