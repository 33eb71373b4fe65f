/**
 * Runs one piece of work per key at a time, in all processes that share the lock, and settles as `work` does. The lock
 * must last as long as the work, however slow, and be free again soon after its owner is killed. Every lock has to pass
 * `lockContract` of `@retail-pos/store-contracts`.
 *
 * @param whileWaiting may make the work unnecessary: it resolves to a result that the caller takes in place of the
 * work's, or to `undefined` as long as there is none. A lock that has to wait may call it now and then, one call at a
 * time, in the async context of its caller. If it resolves to a result or rejects, the lock does the same and does not
 * run the work. A lock that never calls it is correct too, but slower. A lock that wraps another passes it on.
 */
export type Lock = <T>(
  key: string,
  work: () => Promise<T>,
  whileWaiting?: () => Promise<T | undefined>,
) => Promise<T>;
