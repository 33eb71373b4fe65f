import { underLock } from "../store/locks.js";
import type { Application } from "../tokens/application.js";
import type { DomainPrefix } from "../vocabulary/domain-prefix.js";
import { RateLimitedError, TokenEndpointError } from "../vocabulary/errors.js";

/** Lets the logins of one retailer take turns, in all processes that share the lock (behaviour 7). */
export interface LoginTurns {
  /**
   * Runs the work of one login while no other login of the retailer runs.
   *
   * @throws {RateLimitedError} too many of this retailer's logins wait already.
   * @throws {TokenEndpointError} the one before got no answer; this one's work was not run.
   * @throws {StoreFailedError} the lock could not be taken.
   */
  take<T>(retailer: DomainPrefix, work: () => Promise<T>): Promise<T>;
}

/** How many logins of one retailer may wait for each other in this process: a stranger may start any number. */
const MOST_WAITING = 100;
/** When somebody who was turned away may come back. */
const RETRY_AFTER_MS = 1000;

/** The logins of one retailer that wait in this process. */
interface Queue {
  waiting: number;
  /** The last work that got no answer, and the number of the last login that had come by then. */
  silence?: { lastComer: number; error: TokenEndpointError };
}

export function loginTurns({ lock, clientId, clock }: Application): LoginTurns {
  const queues = new Map<DomainPrefix, Queue>();
  let comers = 0;
  return { take };

  async function take<T>(retailer: DomainPrefix, work: () => Promise<T>): Promise<T> {
    const queue = queues.get(retailer) ?? { waiting: 0 };
    if (queue.waiting >= MOST_WAITING) throw tooMany(retailer);
    queues.set(retailer, queue);
    queue.waiting += 1;
    comers += 1;
    const comer = comers;
    try {
      return await underLock(lock, `${clientId}/login/${retailer}`, () => inTurn(queue, comer, work));
    } finally {
      queue.waiting -= 1;
      if (queue.waiting === 0) queues.delete(retailer);
    }
  }

  /** If the endpoint does not answer, each of those that wait would wait for a timeout of its own: told at once. */
  async function inTurn<T>(queue: Queue, comer: number, work: () => Promise<T>): Promise<T> {
    if (queue.silence && comer <= queue.silence.lastComer) throw queue.silence.error;
    try {
      return await work();
    } catch (error) {
      const isSilence = error instanceof TokenEndpointError && error.endpointStatus === undefined;
      if (isSilence) queue.silence = { lastComer: comers, error };
      throw error;
    }
  }

  function tooMany(domainPrefix: DomainPrefix): RateLimitedError {
    const now = clock();
    const why = `is asked by ${MOST_WAITING} logins already`;
    return new RateLimitedError(now + RETRY_AFTER_MS, now, undefined, { domainPrefix, why });
  }
}
