/**
 * The application's `fetch`, called as a plain function: as a member of another object, that of some platforms throws.
 * Without one the global `fetch`, looked up at each call, so that what instruments or intercepts it later is seen.
 */
export function plainFetch(given: typeof globalThis.fetch | undefined): typeof globalThis.fetch {
  return given ? (...call) => given(...call) : (...call) => globalThis.fetch(...call);
}

/** Cancels a body that nobody will read, and does not wait for it. Some fetches give Node's streams. */
export function discard(body: unknown): void {
  const stream = body as { cancel?(): Promise<void>; destroy?(): void } | null | undefined;
  try {
    if (stream?.cancel) stream.cancel().catch(() => {});
    else stream?.destroy?.();
  } catch {
    // It is not to be read, whatever it is.
  }
}
