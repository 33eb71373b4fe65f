/**
 * Runs `work` while nobody else who shares the lock runs work of the same key, and settles as `work`
 * does. It must outlast slow work, and be free again soon after its owner is killed. The contract is
 * `lockContract` of `@retail-pos/sandbox/contracts`.
 */
export type Lock = <T>(key: string, work: () => Promise<T>) => Promise<T>;
