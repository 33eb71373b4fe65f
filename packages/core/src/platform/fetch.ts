/**
 * The application's `fetch`, called as a plain function, because the `fetch` of some platforms throws if it is called
 * as a method. Default: the global `fetch`, looked up at each call, so that a tool may replace it later.
 */
export function plainFetch(given: typeof globalThis.fetch | undefined): typeof globalThis.fetch {
  return given ? (...call) => given(...call) : (...call) => globalThis.fetch(...call);
}

/** Cancels a body that will not be read, without waiting. Some implementations of `fetch` return Node's streams. */
export function discard(body: unknown): void {
  const stream = body as { cancel?(): Promise<void>; destroy?(): void } | null | undefined;
  try {
    if (stream?.cancel) stream.cancel().catch(() => {});
    else stream?.destroy?.();
  } catch {
    // A body that cannot be cancelled does no harm: it is not read anyway.
  }
}
