import { unref } from "./timers.js";

/** The last part of a deadline has a timer of its own; before it runs, answers that have arrived are read. */
const LAST_MS = 100;

/**
 * Settles as the work does, unless that takes too long; the work itself goes on. Keeps no process alive.
 *
 * After a thread stood still (a suspended machine, heavy work) its timers run first and its sockets are read after
 * them. So an answer that has already arrived is read before it counts as missing.
 */
export function within<T>(ms: number, work: Promise<T> | T, tooLate: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    const lastMs = Math.min(LAST_MS, ms / 2);
    const last = () => {
      timer = unref(setTimeout(() => reject(tooLate()), lastMs));
    };
    let timer = unref(setTimeout(last, ms - lastMs));
    const inTime = () => clearTimeout(timer);
    // Wrapped, because a foreign store may answer with something that is no promise.
    const settled = Promise.resolve(work);
    settled.then(inTime, inTime);
    settled.then(resolve, reject);
  });
}
