import type { Handler } from "./dispatcher.js";

/**
 * An answer waits for its reader: undici stops reading the connection meanwhile. If the connection is not kept after
 * the answer and the host closes it during that wait, undici 7 fails an assertion where nobody can catch it, and the
 * process ends (undici's issue 5360; mended in undici 8, which Node 20 cannot run). So such an answer does not wait:
 * it is read at once, into memory.
 */
export function neverPausedIfClosing(handler: Handler): void {
  let isClosing = false;
  if (handler.onRequestStart) {
    const { onResponseStart, onResponseData } = handler;
    handler.onResponseStart = function (controller, status, headers, ...more) {
      isClosing = closes(new Map(Object.entries(headers as Record<string, unknown>)));
      return onResponseStart?.call(this, controller, status, headers, ...more);
    };
    handler.onResponseData = function (controller, ...more) {
      const result = onResponseData?.call(this, controller, ...more);
      if (isClosing) (controller as { resume(): void }).resume();
      return result;
    };
  } else {
    const { onHeaders, onData } = handler;
    handler.onHeaders = function (status, headers, ...more) {
      isClosing = closes(inPairs(headers as readonly unknown[]));
      return onHeaders?.call(this, status, headers, ...more);
    };
    handler.onData = function (...what) {
      const goesOn = onData?.apply(this, what);
      return isClosing ? true : goesOn;
    };
  }
}

/**
 * Whether the connection may end with the answer. HTTP/1.1 keeps it unless `close` is said, HTTP/1.0 only if
 * `keep-alive` is said (RFC 9112, section 9.3). The version is not told here: only 1.1 has `Transfer-Encoding`.
 */
function closes(headers: ReadonlyMap<string, unknown>): boolean {
  const connection = String(headers.get("connection") ?? "").toLowerCase();
  if (connection.includes("close")) return true;
  return !headers.has("transfer-encoding") && !connection.includes("keep-alive");
}

/** undici gives names and values in turn, as bytes. */
function inPairs(headers: readonly unknown[]): Map<string, unknown> {
  const pairs = new Map<string, unknown>();
  for (let at = 0; at + 1 < headers.length; at += 2)
    pairs.set(String(headers[at]).toLowerCase(), headers[at + 1]);
  return pairs;
}
