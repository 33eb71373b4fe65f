import { type StoreTask, storeFailure } from "@retail-pos/core";

/** Pauses between the tries when the file stays locked although SQLite has waited itself. */
const AGAIN_AFTER_MS = [20, 50, 100, 200];

/**
 * Does the work, again while other processes keep the file locked, a bounded number of times.
 *
 * @param task what the work is for, for the error.
 */
export async function patiently<T>(task: StoreTask, work: () => T): Promise<T> {
  for (let tries = 0; ; tries += 1) {
    try {
      return work();
    } catch (error) {
      const pauseMs = AGAIN_AFTER_MS[tries];
      if (pauseMs === undefined || !isBusy(error)) throw storeFailure("SQLite", task, error);
      await sleep(pauseMs * (0.5 + Math.random()));
    }
  }
}

/**
 * The same while a program starts: the thread waits.
 *
 * @param doing completes "SQLite could not ...", for the error.
 */
export function insistently<T>(doing: string, work: () => T): T {
  for (let tries = 0; ; tries += 1) {
    try {
      return work();
    } catch (error) {
      const pauseMs = AGAIN_AFTER_MS[tries];
      if (pauseMs === undefined || !isBusy(error)) throw failure(doing, error);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pauseMs);
    }
  }
}

/** Keeps the process alive: somebody waits for what comes after. */
export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** SQLITE_BUSY (5) or SQLITE_LOCKED (6), also in their extended forms, in the words of each driver. */
function isBusy(error: unknown): boolean {
  const { code, errcode, rawCode } = Object(error) as {
    code?: unknown;
    errcode?: unknown;
    rawCode?: unknown;
  };
  if (typeof code === "string" && /^SQLITE_(BUSY|LOCKED)/.test(code)) return true;
  const number = errcode ?? rawCode;
  return typeof number === "number" && [5, 6].includes(number & 0xff);
}

/** What goes wrong outside a store and a lock. */
function failure(doing: string, error: unknown): Error {
  const { message, code } = Object(error) as { message?: unknown; code?: unknown };
  const failed = new Error(`SQLite could not ${doing}: ${String(message)}`);
  return typeof code === "string" ? Object.assign(failed, { code }) : failed;
}
