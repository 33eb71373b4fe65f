import { inspect } from "node:util";

const HIDDEN = "[hidden]";

/** Replaces every secret in a text, as it is and form-encoded. */
export function redact(text: string, secrets: readonly string[]): string {
  let result = text;
  for (const secret of secrets) {
    for (const form of new Set([secret, new URLSearchParams([["", secret]]).toString().slice(1)])) {
      if (form !== "") result = result.replaceAll(form, HIDDEN);
    }
  }
  return result;
}

/**
 * What may be kept as a `cause` or told to an observer: the error itself, or, when anything in it
 * shows one of the secrets, a new one with its name, its code and its cleaned message.
 */
export function withoutSecrets(error: unknown, secrets: readonly string[]): unknown {
  const shown = inspect(error, { depth: 10, showHidden: true, maxStringLength: null, maxArrayLength: null });
  if (redact(shown, secrets) === shown) return error;
  const { name, message, code } = Object(error) as { name?: unknown; message?: unknown; code?: unknown };
  const cleaned = new Error(redact(String(message ?? "unknown error"), secrets));
  cleaned.name = redact(String(name ?? "Error"), secrets);
  return code === undefined ? cleaned : Object.assign(cleaned, { code: redact(String(code), secrets) });
}
