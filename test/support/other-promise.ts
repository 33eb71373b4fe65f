/** Runs synchronous code while the global `Promise` is another class than that of async functions. */
export function withOtherPromise<T>(work: () => T): T {
  const native = globalThis.Promise;
  globalThis.Promise = class Other<R> extends native<R> {} as PromiseConstructor;
  try {
    return work();
  } finally {
    globalThis.Promise = native;
  }
}
