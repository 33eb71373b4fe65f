/**
 * The application's `fetch`, called as a plain function, because the `fetch` of some platforms throws if it is called
 * as a method. Default: the global `fetch`, looked up at each call, so that a tool may replace it later.
 */
export function plainFetch(given: typeof globalThis.fetch | undefined): typeof globalThis.fetch {
  return given ? (...call) => given(...call) : (...call) => globalThis.fetch(...call);
}

/** Ends a body that will not be read or sent. It may be one of Node's streams, or one that cannot be ended. */
export function discard(body: unknown, reason?: unknown): void {
  const stream = body as { cancel?(reason: unknown): unknown; destroy?(): void } | null | undefined;
  const ending = () => (stream?.cancel ? stream.cancel(reason) : stream?.destroy?.());
  new Promise((resolve) => resolve(ending())).catch(() => {});
}
