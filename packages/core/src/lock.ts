/**
 * Runs `work` while nobody else who shares the lock runs work of the same key, and settles as `work`
 * does. It must outlast slow work, and be free again soon after its owner is killed. The contract is
 * `lockContract` of `@retail-pos/sandbox/contracts`.
 */
export type Lock = <T>(key: string, work: () => Promise<T>) => Promise<T>;

/**
 * Settles as the work does, as soon as it does: nobody has to wait until the lock is let go. Rejects where the
 * lock cannot be taken.
 */
export function underLock<T>(lock: Lock, key: string, work: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const over = lock(key, () => {
      const result = work();
      result.then(resolve, reject);
      return result;
    });
    over.then(() => reject(new Error("The lock did not run its work")), reject); // after the work this changes nothing
  });
}
