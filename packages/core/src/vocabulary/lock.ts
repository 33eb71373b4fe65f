/**
 * Runs `work` while nobody else who shares the lock runs work of the same key, and settles as `work`
 * does. It must outlast slow work, and be free again soon after its owner is killed. The contract is
 * `lockContract` of `@retail-pos/sandbox/contracts`.
 *
 * @param instead what the caller takes in place of the work's result, or `undefined` while there is nothing. A lock
 * that has to wait may ask it now and then, one question at a time, in the async context of its caller. It resolves
 * with what that gives, or rejects as it does; then the work is not run. A lock that never asks it is as good, only
 * slower. A lock that wraps another passes it on.
 */
export type Lock = <T>(
  key: string,
  work: () => Promise<T>,
  instead?: () => Promise<T | undefined>,
) => Promise<T>;
