import { unref } from "./timers.js";

/** The pauses that end if the process is about to end. They share one listener, because Node warns of more than ten. */
const pauses = new Set<(isEnding: boolean) => void>();
let isListening = false;

/**
 * Pauses, and keeps no process alive.
 *
 * @returns whether the pause ended early because Node has nothing else to do and is about to end the process. Work
 * that the caller begins then keeps the process alive.
 */
export function endsWithin(ms: number): Promise<boolean> {
  listen();
  return new Promise((resolve) => {
    const end = (isEnding: boolean) => {
      clearTimeout(timer);
      pauses.delete(end);
      resolve(isEnding);
    };
    const timer = unref(setTimeout(end, ms, false));
    pauses.add(end);
  });
}

function listen(): void {
  if (isListening) return;
  isListening = true;
  try {
    globalThis.process?.on?.("beforeExit", () => {
      for (const end of pauses) end(true);
    });
  } catch {
    // Next's Edge Runtime has a `process.on` that throws. In a browser there is no process.
  }
}
