import { longestPauseAfter } from "../platform/pauses.js";
import { endsWithin } from "../platform/process-end.js";
import { sleep, unref } from "../platform/timers.js";
import type { TokenSet } from "../vocabulary/token-set.js";

/** So long the process stays alive for tries to save a set: after the first failure, and once more before it ends. */
const STAYS_MS = 30_000;

/** A set that the store did not take is looked at again so often while it keeps the process alive. */
const LOOK_MS = 1000;

interface Unsaved {
  readonly isUnsaved: boolean;
  readonly set: TokenSet | undefined;
  saveAgain(): Promise<void>;
}

/**
 * Tries to save a set until the store has taken it, if no caller asks for it: until then other processes send the spent
 * refresh token. Only this process has the set, so half a minute of tries keeps it alive, because it may be stopping
 * already. If it comes to its end later, it gets half a minute more. A mark is not worth that.
 */
export async function saveLater(held: Unsaved): Promise<void> {
  let staysUntil = performance.now() + STAYS_MS;
  let mayStayAgain = true;
  for (let tries = 1; held.isUnsaved; tries += 1) {
    const pauseMs = longestPauseAfter(tries);
    const isMark = held.set?.refusedAt !== undefined;
    if (!isMark && performance.now() < staysUntil) await stay(pauseMs, held);
    else if (isMark || !mayStayAgain) await pause(pauseMs);
    else if (await endsWithin(pauseMs)) {
      staysUntil = performance.now() + STAYS_MS;
      mayStayAgain = false;
      tries = 0;
    }
    await held.saveAgain();
  }
}

/** Keeps the process alive, but not after another try has saved the set. */
async function stay(ms: number, held: Unsaved): Promise<void> {
  for (let waitedMs = 0; waitedMs < ms && held.isUnsaved; waitedMs += LOOK_MS) await sleep(LOOK_MS);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => unref(setTimeout(resolve, ms)));
}
