/** The end of a message if a required option is missing: it names the variable that `settingsFromEnv` would read. */
export function ifNone(value: unknown, option: string): string {
  return value === undefined ? `; none was given (settingsFromEnv() reads ${variableOf(option)})` : "";
}

/** The environment variable of an option: `RETAIL_POS_CLIENT_ID` for `clientId`. */
export function variableOf(option: string): string {
  return `RETAIL_POS_${option.replace(/[A-Z]+/g, "_$&").toUpperCase()}`;
}

/** Written as a number, for the reason in scripts/bundle.mjs. */
const BYTE_ORDER_MARK = String.fromCharCode(0xfeff);

/**
 * @throws {TypeError} the text has a line break, a byte-order mark, a blank or quotes from the file or form it came
 * from.
 */
export function refuseStrayCharacters(option: string, text: string): void {
  const refuse = (problem: string) => {
    throw new TypeError(`${option} must not ${problem}`);
  };
  if (/[\r\n]/.test(text)) refuse("contain a line break; read from a file, it needs .trim()");
  if (text.includes(BYTE_ORDER_MARK))
    refuse("contain a byte-order mark, as some editors put at the start of a file");
  if (text !== text.trim()) refuse("begin or end with a blank");
  if (/^(["'`]).*\1$/.test(text) || /^[\u2018\u201c].*[\u2019\u201d]$/.test(text))
    refuse("have quotes around it");
}

/**
 * Refuses misspelt options, for authors of packages around this one. Without this check a misspelt option would be
 * ignored, and its default used. A name that resembles none of `names` is accepted, such as the `migrate` that comes
 * with a store.
 *
 * @param names the existing options.
 * @param elsewhere other packages' names for these options, in lower case and without `_` and `-`, each with the right
 * name.
 * @throws {TypeError} `options` is no object, or has a misspelt name. The message gives the right name, and shows no
 * value.
 */
export function refuseMisspelt(
  options: unknown,
  names: readonly string[],
  elsewhere: Readonly<Record<string, string>> = {},
): void {
  if (typeof options !== "object" || options === null) throw new TypeError("options must be an object");
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || names.includes(name)) continue;
    const meant = optionLike(name, names, elsewhere);
    if (meant) throw new TypeError(`${name} is no option; it is called ${meant} here`);
  }
}

function optionLike(
  name: string,
  names: readonly string[],
  elsewhere: Readonly<Record<string, string>>,
): string | undefined {
  const plain = plainName(name);
  return (
    names.find((ours) => plainName(ours) === plain) ??
    (Object.hasOwn(elsewhere, plain) ? elsewhere[plain] : undefined) ??
    names.find((ours) => isAlmost(plainName(ours), plain))
  );
}

/** Whether two names differ by a typing mistake: one letter too many or too few, or letters in another order. */
function isAlmost(ours: string, given: string): boolean {
  const sorted = (name: string) => [...name].sort().join();
  const lacksOne = (short: string, long: string) =>
    [...long].some((_, at) => long.slice(0, at) + long.slice(at + 1) === short);
  return (
    ours === `${given}ms` || sorted(ours) === sorted(given) || lacksOne(ours, given) || lacksOne(given, ours)
  );
}

function plainName(name: string): string {
  return name.toLowerCase().replace(/[_-]/g, "");
}
