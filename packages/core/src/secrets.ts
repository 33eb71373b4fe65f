const HIDDEN = "[hidden]";

/**
 * `util.inspect`, fetched when the first error needs it: imported, it would be a quarter of the time this package
 * takes to load, where nothing else has loaded it.
 */
let inspect: typeof import("node:util").inspect | undefined;
const inspector = () => (inspect ??= process.getBuiltinModule?.("node:util").inspect);
if (!process.getBuiltinModule) {
  // Node 22.0 to 22.2. It is there long before a request can have failed.
  void import("node:util").then((util) => {
    inspect = util.inspect;
  });
}

/** Replaces every secret in a text, in each of the forms that a text may hold it in. */
export function redact(text: string, secrets: readonly string[]): string {
  const longestFirst = secrets.flatMap(formsOf).sort((one, other) => other.length - one.length);
  return longestFirst.reduce((result, form) => result.replaceAll(form, HIDDEN), text);
}

/**
 * What may be kept as a `cause`, thrown or told to an observer: the error itself, or, when anything in it
 * shows one of the secrets, a new one with its name, its code and its cleaned message.
 */
export function withoutSecrets(error: unknown, secrets: readonly string[]): unknown {
  if (!shows(error, secrets)) return error;
  const { name, message, code } = Object(error) as { name?: unknown; message?: unknown; code?: unknown };
  const cleaned = new Error(redact(String(message ?? "unknown error"), secrets));
  cleaned.name = redact(String(name ?? "Error"), secrets);
  return code === undefined ? cleaned : Object.assign(cleaned, { code: redact(String(code), secrets) });
}

/** As it is; form-encoded and percent-encoded; inside JSON; as the console prints it. */
function formsOf(secret: string): string[] {
  const formEncoded = new URLSearchParams([["", secret]]).toString().slice(1);
  const quoted = [JSON.stringify(secret), inspector()?.(secret) ?? ""].map((text) => text.slice(1, -1));
  const forms = new Set([secret, formEncoded, formEncoded.replaceAll("+", "%20"), ...quoted]);
  return [...forms].filter((form) => form !== "");
}

function asJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    return ""; // circular: nobody gets JSON out of it
  }
}

/** Whether anybody who prints the value, in whatever way, would see a secret. */
function shows(value: unknown, secrets: readonly string[]): boolean {
  const printed = { depth: 25, showHidden: true, maxStringLength: null, maxArrayLength: null };
  const print = inspector();
  if (!print) return true;
  try {
    const text = [
      print(value, printed),
      print(value, { ...printed, customInspect: false, getters: true }), // some hide from the console what they hold
      asJson(value),
    ].join("\n");
    return redact(text, secrets) !== text;
  } catch {
    return true; // what cannot be looked at is not passed on
  }
}
