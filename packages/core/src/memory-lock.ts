import type { Lock } from "./lock.js";

/** A lock within this process: first come, first served. Enough while one process renews. */
export function memoryLock(): Lock {
  const tails = new Map<string, Promise<unknown>>();
  return <T>(key: string, work: () => Promise<T>): Promise<T> => {
    const turn = (tails.get(key) ?? Promise.resolve()).then(work);
    const tail = turn.then(done, done);
    tails.set(key, tail);
    return turn;

    function done() {
      if (tails.get(key) === tail) tails.delete(key);
    }
  };
}
