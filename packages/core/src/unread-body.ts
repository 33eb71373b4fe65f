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
