/**
 * The application's `fetch`, called as a plain function: as a member of another object, that of some platforms throws.
 * Without one the global `fetch`, looked up at each call, so that what instruments or intercepts it later is seen.
 */
export function plainFetch(given: typeof globalThis.fetch | undefined): typeof globalThis.fetch {
  return given ? (...call) => given(...call) : (...call) => globalThis.fetch(...call);
}
