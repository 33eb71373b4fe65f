const HIDDEN = "[hidden]";

/** Replaces every secret in a text, in each of its usual forms. */
export function redact(text: string, secrets: readonly string[]): string {
  return formsOf(secrets).reduce((result, form) => result.replaceAll(form, HIDDEN), text);
}

/** Whether a text contains one of the secrets in a usual form. */
export function shows(text: string, secrets: readonly string[]): boolean {
  return formsOf(secrets).some((form) => text.includes(form));
}

/** Each secret unchanged, form-encoded and percent-encoded (once and twice), in JSON and HTML; the longest first. */
function formsOf(secrets: readonly string[]): string[] {
  const forms = secrets.flatMap((secret) => {
    const formEncoded = new URLSearchParams([["", secret]]).toString().slice(1);
    const encoded = [formEncoded, formEncoded.replaceAll("+", "%20"), percentEncoded(secret)];
    const inJson = JSON.stringify(secret).slice(1, -1);
    const ascii = inJson.replace(
      /[^ -~]/g,
      (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`,
    );
    return [
      secret,
      ...[...encoded, ...encoded.map(lowerCaseHex)].flatMap((form) => [form, encodeURIComponent(form)]),
      ...[inJson, ascii].flatMap((form) => [form, form.replaceAll("/", "\\/")]),
      ...["&#39;", "&#x27;", "&apos;"].map((apostrophe) => inHtml(secret, apostrophe)),
    ];
  });
  return [...new Set(forms)].filter(Boolean).sort((one, other) => other.length - one.length);
}

/** `encodeURIComponent` throws on lone surrogates; the bytes of a text have none. */
function percentEncoded(text: string): string {
  return encodeURIComponent(new TextDecoder().decode(new TextEncoder().encode(text)));
}

function inHtml(text: string, apostrophe: string): string {
  const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  return text.replace(/[&<>"']/g, (sign) => entities[sign] ?? apostrophe);
}

function lowerCaseHex(text: string): string {
  return text.replace(/%[0-9A-F]{2}/g, (hex) => hex.toLowerCase());
}
