/**
 * Makes a promise one of a request that has ended, as newer versions of Cloudflare Workers have it: from now on it
 * settles for nobody, and waiting for it fails.
 */
export function endRequestOf<T>(promise: Promise<T>): Promise<T> {
  const ended = new Error("This promise was created by a request that has since ended");
  const value: Promise<T>["then"] = (...handlers) => Promise.reject(ended).then(...handlers);
  // biome-ignore lint/suspicious/noThenProperty: it is a promise, and waits as its runtime does
  return Object.defineProperty(promise, "then", { value });
}
