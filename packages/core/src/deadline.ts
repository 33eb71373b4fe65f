import { unref } from "./timers.js";

/** The end of a deadline, for answers that arrived while the thread stood still. */
const LAST_MS = 100;

/**
 * Settles as the work does, unless that takes too long; the work itself goes on. Keeps no process alive.
 *
 * After a thread stood still (a suspended machine, heavy work) its timers come first and its sockets after them:
 * an answer that lies there has to be read before it counts as missing.
 */
export function within<T>(ms: number, work: Promise<T> | T, tooLate: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    const lastMs = Math.min(LAST_MS, ms / 2);
    const last = () => {
      timer = unref(setTimeout(() => reject(tooLate()), lastMs));
    };
    let timer = unref(setTimeout(last, ms - lastMs));
    const inTime = () => clearTimeout(timer);
    // Resolved once more: what a stranger's store answers may be no promise.
    const settled = Promise.resolve(work);
    settled.then(inTime, inTime);
    settled.then(resolve, reject);
  });
}
