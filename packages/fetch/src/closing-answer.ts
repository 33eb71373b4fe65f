/**
 * Whether the connection may end with an answer that has these headers (names in lower case). HTTP/1.1 keeps it unless
 * `close` is said, HTTP/1.0 only if `keep-alive` is said (RFC 9112, section 9.3). The version is not told here: only
 * 1.1 has `Transfer-Encoding`.
 *
 * An answer waits for its reader: undici stops reading the connection meanwhile. If the host closes it during that
 * wait, and it is not kept after the answer, undici 7 fails an assertion where nobody can catch it, and the process
 * ends (undici's issue 5360; mended in undici 8, which Node 20 cannot run). So such an answer must not wait: it is read
 * at once, into memory.
 */
export function mayClose(headers: ReadonlyMap<string, unknown>): boolean {
  const connection = String(headers.get("connection") ?? "").toLowerCase();
  if (connection.includes("close")) return true;
  return !headers.has("transfer-encoding") && !connection.includes("keep-alive");
}
