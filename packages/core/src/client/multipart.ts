/**
 * A form as it is now, as `multipart/form-data` (RFC 7578, and HTML's rules for names and line ends). Every `fetch`
 * takes a Blob and its type, but a FormData only of its own copy of undici. Files are not read here.
 */
export function multipart(form: FormData): Blob {
  const boundary = `form-data-${crypto.randomUUID()}`; // a Blob's type is in small letters
  const parts: (string | Blob)[] = [];
  for (const [name, value] of form) {
    parts.push(`--${boundary}\r\nContent-Disposition: form-data; name="${quoted(withCrlf(name))}"`);
    if (typeof value === "string") parts.push("\r\n\r\n", withCrlf(value));
    else {
      const type = value.type || "application/octet-stream";
      parts.push(`; filename="${quoted(value.name)}"\r\nContent-Type: ${type}\r\n\r\n`, value);
    }
    parts.push("\r\n");
  }
  parts.push(`--${boundary}--\r\n`);
  return new Blob(parts, { type: `multipart/form-data; boundary=${boundary}` });
}

function quoted(name: string): string {
  return name.replaceAll("\n", "%0A").replaceAll("\r", "%0D").replaceAll('"', "%22");
}

function withCrlf(text: string): string {
  return text.replaceAll(/\r\n?|\n/g, "\r\n");
}
