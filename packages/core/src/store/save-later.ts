import { LONGEST_PAUSE_MS, longestPauseAfter } from "../platform/pauses.js";
import { endsWithin } from "../platform/process-end.js";
import { sleep, unref } from "../platform/timers.js";

/** How long a process that has nothing else to do stays alive to save. */
const STAYS_MS = 30_000;

/** How often it tries meanwhile. */
const AGAIN_MS = 3000;

interface Saver {
  readonly isUnsaved: boolean;
  saveUnsaved(): Promise<unknown>;
}

/**
 * Tries to save a set until the store has taken it, if no caller asks for it: until then other processes send the spent
 * refresh token. Only this process has the set, so if Node is about to end the process, it stays for a while.
 */
export async function saveLater(saver: Saver): Promise<void> {
  for (let tries = 1; saver.isUnsaved; tries += 1) {
    const isEnding = await endsWithin(longestPauseAfter(tries));
    if (!isEnding) await saver.saveUnsaved();
    else {
      await stay(saver);
      // Nothing keeps the process alive now. If it lives on all the same, tries go on.
      await new Promise((resolve) => unref(setTimeout(resolve, LONGEST_PAUSE_MS)));
    }
  }
}

/** Keeps the process alive. */
async function stay(saver: Saver): Promise<void> {
  const staysUntil = performance.now() + STAYS_MS;
  for (;;) {
    await saver.saveUnsaved();
    if (!saver.isUnsaved || performance.now() >= staysUntil) return;
    await sleep(AGAIN_MS);
  }
}
