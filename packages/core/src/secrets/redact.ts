const HIDDEN = "[hidden]";

/** Shorter secrets are not searched in base64 and hex, because a few characters appear there by chance. */
const LEAST_ENCODED = 8;
/** At most so many layers of escapes are undone. */
const MOST_ESCAPES = 4;

/**
 * Replaces every secret in a text, in each of its usual forms. If the text shows a secret in an unusual form (partly
 * escaped, or inside longer base64), the whole text is replaced.
 */
export function redact(text: string, secrets: readonly string[]): string {
  if (!shows(text, secrets)) return text;
  const longestFirst = secrets.flatMap(usualForms).sort((one, other) => other.length - one.length);
  const cleaned = longestFirst.reduce((result, form) => result.replaceAll(form, HIDDEN), text);
  return shows(cleaned, secrets) ? HIDDEN : cleaned;
}

/**
 * Whether a text contains one of the secrets: unchanged; percent-encoded, form-encoded or escaped for JSON, JavaScript
 * or HTML, wholly or partly, once or several times; in hex; or inside base64, of either alphabet.
 */
export function shows(text: string, secrets: readonly string[]): boolean {
  const wanted = secrets.filter((secret) => secret !== "");
  if (wanted.length === 0) return false;
  // An escape that begins before the secret may swallow its first letters, and only the escaped form is seen.
  if (wanted.flatMap(usualForms).some((form) => text.includes(form))) return true;
  const longEnough = wanted.filter(({ length }) => length >= LEAST_ENCODED);
  const cores = longEnough.flatMap(base64Cores);
  const hexes = longEnough.map(hexOf);
  return readingsOf(text).some((reading) => {
    if (wanted.some((secret) => reading.includes(secret))) return true;
    if (longEnough.length === 0) return false;
    const base64 = reading.replace(/\s+/g, "").replaceAll("-", "+").replaceAll("_", "/");
    if (cores.some((core) => base64.includes(core))) return true;
    const hex = reading.toLowerCase().replace(/0x|[\s:,_-]+/g, "");
    return hexes.some((one) => hex.includes(one));
  });
}

/** The text, and what it becomes when its escapes are undone, one layer after the other. */
function readingsOf(text: string): string[] {
  const readings = [text];
  for (const first of text.includes("+") ? [text, text.replaceAll("+", " ")] : [text]) {
    let reading = first;
    for (let count = 0; count < MOST_ESCAPES && /[%&\\]/.test(reading); count += 1) {
      const next = unescapedOnce(reading);
      if (next === reading) break;
      readings.push(next);
      reading = next;
    }
  }
  return readings;
}

const NAMED: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };
const CONTROL: Record<string, string> = { n: "\n", r: "\r", t: "\t", b: "\b", f: "\f", v: "\v" };

function unescapedOnce(text: string): string {
  return text
    .replace(/(?:%[0-9a-f]{2})+/gi, (run) => {
      const bytes = run.slice(1).split("%");
      return new TextDecoder().decode(Uint8Array.from(bytes, (hex) => Number.parseInt(hex, 16)));
    })
    .replace(
      /(?:%|\\{1,8})u([0-9a-f]{4})|\\{1,8}x([0-9a-f]{2})|\\{1,8}u\{([0-9a-f]{1,6})\}/gi,
      (all, ...hexes) => character(hexes.slice(0, 3).find(Boolean), 16, all),
    )
    .replace(/&#x([0-9a-f]{1,8});?/gi, (all, hex) => character(hex, 16, all))
    .replace(/&#(\d{1,8});?/g, (all, digits) => character(digits, 10, all))
    .replace(/&(amp|lt|gt|quot|apos);/g, (all, name) => NAMED[name] ?? all)
    .replace(/\\(["'`/\\nrtbfv])/g, (_, sign) => CONTROL[sign] ?? sign);
}

function character(digits: string, radix: number, otherwise: string): string {
  const code = Number.parseInt(digits, radix);
  return code <= 0x10ffff ? String.fromCodePoint(code) : otherwise;
}

/**
 * A secret unchanged; form-encoded and percent-encoded, once and twice; in JSON, once and twice; in HTML, hex and
 * base64.
 */
function usualForms(secret: string): string[] {
  const formEncoded = new URLSearchParams([["", secret]]).toString().slice(1);
  const percentEncoded = [encodeURIComponent(wellFormed(secret)), formEncoded.replaceAll("+", "%20")];
  const encoded = [...percentEncoded, formEncoded].flatMap((form) => [form, lowerCaseHex(form)]);
  const quoted = JSON.stringify(secret).slice(1, -1);
  const forms = [
    secret,
    ...encoded,
    ...encoded.map((form) => encodeURIComponent(form)),
    ...[quoted, quoted.replaceAll("/", "\\/")].flatMap((form) => [form, JSON.stringify(form).slice(1, -1)]),
    ...["&apos;", "&#39;", "&#039;", "&#x27;"].map((apostrophe) => inHtml(secret, apostrophe)),
    ...(secret.length < LEAST_ENCODED ? [] : hexAndBase64Of(secret)),
  ];
  return [...new Set(forms)].filter((form) => form !== "");
}

function hexAndBase64Of(secret: string): string[] {
  const hex = hexOf(secret);
  const base64 = base64Of(new TextEncoder().encode(secret));
  const url = base64.replaceAll("+", "-").replaceAll("/", "_");
  return [hex, hex.toUpperCase(), ...[base64, url].flatMap((form) => [form, form.replace(/=+$/, "")])];
}

function inHtml(text: string, apostrophe: string): string {
  const entities: Record<string, string> = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    '"': "&quot;",
    "'": apostrophe,
  };
  return text.replace(/[&<>"']/g, (sign) => entities[sign] ?? sign);
}

function lowerCaseHex(text: string): string {
  return text.replace(/%[0-9A-F]{2}/g, (hex) => hex.toLowerCase());
}

/** Replaces lone surrogates, because `encodeURIComponent` throws on them. */
function wellFormed(text: string): string {
  return new TextDecoder().decode(new TextEncoder().encode(text));
}

/**
 * The middle of a secret's base64 for each of the three positions that it can have in a longer text. The bytes before
 * and after the secret do not change it.
 */
function base64Cores(secret: string): string[] {
  const bytes = new TextEncoder().encode(secret);
  return [0, 1, 2].map((before) => {
    const known = Math.floor(((before + bytes.length) * 8) / 6);
    const padded = new Uint8Array(before + bytes.length);
    padded.set(bytes, before);
    return base64Of(padded).slice(Math.ceil((before * 8) / 6), known);
  });
}

function base64Of(bytes: Uint8Array): string {
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}

/** The hex digits of the text's UTF-8 bytes. */
function hexOf(text: string): string {
  let hex = "";
  for (const byte of new TextEncoder().encode(text)) hex += (byte + 256).toString(16).slice(1);
  return hex;
}
