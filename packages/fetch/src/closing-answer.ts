/**
 * Whether a connection is certain to stay open after an answer with these headers (names in lower case): the host says
 * `keep-alive`, and where the answer ends. Whatever else a host says, HTTP/1.0 or an end of the body that is the end of
 * the connection may mean that it closes (RFC 9112, sections 6.3 and 9.3). The version of HTTP is not told here.
 *
 * An answer waits for its reader: undici stops reading the connection meanwhile. If the host closes it during that
 * wait, and it is not kept after the answer, undici 7 fails an assertion where nobody can catch it, and the process
 * ends (undici's issue 5360; mended in undici 8, which Node 20 cannot run). So an answer that is not certain must not
 * wait: it is read at once, into memory. That is the price of a process that no host can end.
 */
export function staysOpen(headers: ReadonlyMap<string, unknown>): boolean {
  const isKept = textOf("connection") === "keep-alive" && !headers.has("proxy-connection");
  const isChunked = /(^|, *)chunked$/.test(textOf("transfer-encoding"));
  return isKept && (isChunked || (headers.has("content-length") && !headers.has("transfer-encoding")));

  function textOf(name: string): string {
    return String(headers.get(name) ?? "").toLowerCase();
  }
}
