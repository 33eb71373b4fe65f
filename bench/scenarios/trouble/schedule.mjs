import { randomOf } from "./random.mjs";

const KINDS = {
  "rolling restart": 2,
  kill: 3,
  "slow token endpoint": 1,
  "token endpoint answers 503": 1,
  "token endpoint answers 429": 1,
  "database away": 1,
  "process asleep": 1,
};
const MEAN_PAUSE_MS = 6000;

/**
 * One trouble after the other, in an order and with pauses that the seed decides.
 *
 * @returns `[{ kind, pauseMs, worker }]`: after the pause it happens, if to one process, to this one of four.
 */
export function scheduleOf(seed) {
  const random = randomOf(seed);
  const left = Object.entries(KINDS).flatMap(([kind, times]) => Array(times).fill(kind));
  return Array.from({ length: left.length }, () => ({
    kind: left.splice(Math.floor(random() * left.length), 1)[0],
    pauseMs: 2 * MEAN_PAUSE_MS * random(),
    worker: Math.floor(random() * 4),
  }));
}
