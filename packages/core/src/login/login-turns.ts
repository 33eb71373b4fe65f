import { Heartbeat } from "../platform/heartbeat.js";
import { underLock } from "../store/locks.js";
import type { Deps } from "../tokens/deps.js";
import { REQUEST_ENDS_WITHIN_MS } from "../tokens/renewals.js";
import type { DomainPrefix } from "../vocabulary/domain-prefix.js";
import { RateLimitedError, TokenEndpointError } from "../vocabulary/errors.js";

/** Of one retailer in this process: those that wait for the lock, and the one that waits for an answer. */
const MOST_OF_A_RETAILER = 100;
/** Of all retailers: as many sockets, at most. */
const MOST = 256;
/** A login that has waited this long for its turn gives up: the browser has, too. */
const LONGEST_WAIT_MS = 60_000;
/** The retry time of a login that was refused because too many are under way. */
const RETRY_AFTER_MS = 1000;

/** A login that waits for its turn, or has it. */
interface LoginTurn {
  readonly retailer: DomainPrefix;
  /** By then it is over, whatever became of it, as `performance.now()` says it. */
  endsAt: number;
}

/** The logins of one retailer in this process. */
interface Queue {
  waiting: number;
  /** The last work that got no answer, and the number of the newest login at that moment. */
  unanswered?: { newest: number; error: TokenEndpointError };
}

/**
 * Runs the logins of one retailer one at a time, in all processes that share the lock (behaviour 7). A stranger can
 * start any number, with any domain prefix, and each code goes to a host that its callback named, which may not answer.
 * Renewals are not counted and not limited by it.
 *
 * @returns a function that runs the work of one login while no other login of the retailer runs. The work tells the
 * heartbeat how long its next step may take; if its runtime ends it, the next login begins. The function rejects with
 * - a `RateLimitedError`: too many logins of this retailer, or of all, are under way;
 * - a `TokenEndpointError`: a login that this one waited for got no answer; this one's work was not run;
 * - a `StoreFailedError`: the lock could not be taken.
 */
export function loginTurns({
  lock,
  clientId,
  clock,
  timeoutMs,
}: Deps): <T>(retailer: DomainPrefix, work: (heartbeat: Heartbeat) => Promise<T>) => Promise<T> {
  const loginMayTakeMs = timeoutMs + REQUEST_ENDS_WITHIN_MS;
  const queues = new Map<DomainPrefix, Queue>();
  const turns = new Set<LoginTurn>();
  let logins = 0;
  return take;

  async function take<T>(retailer: DomainPrefix, work: (heartbeat: Heartbeat) => Promise<T>): Promise<T> {
    forgetOld();
    const queue = queues.get(retailer) ?? { waiting: 0 };
    if (queue.waiting >= MOST_OF_A_RETAILER)
      throw tooMany(retailer, `is asked by ${MOST_OF_A_RETAILER} logins already`);
    if (turns.size >= MOST)
      throw tooMany(retailer, `has to wait: ${MOST} logins of all retailers are under way`);
    queues.set(retailer, queue);
    queue.waiting += 1;
    const turn: LoginTurn = { retailer, endsAt: performance.now() + LONGEST_WAIT_MS };
    turns.add(turn);
    logins += 1;
    const number = logins;
    try {
      const heartbeat = new Heartbeat(loginMayTakeMs);
      const inTurnNow = () => {
        if (!turns.has(turn)) throw tooMany(retailer, "waited too long behind other logins");
        turn.endsAt = performance.now() + loginMayTakeMs;
        return inTurn(queue, number, () => work(heartbeat));
      };
      return await underLock(lock, `${clientId}/login/${retailer}`, inTurnNow, { heartbeat });
    } finally {
      end(turn);
    }
  }

  function end(turn: LoginTurn): void {
    if (!turns.delete(turn)) return;
    const queue = queues.get(turn.retailer);
    if (queue) queue.waiting -= 1;
    if (queue?.waiting === 0) queues.delete(turn.retailer);
  }

  /** Some runtimes end a request's work, `finally` included, when its client leaves. Such a login is not counted. */
  function forgetOld(): void {
    const now = performance.now();
    for (const turn of turns) if (turn.endsAt < now) end(turn);
  }

  /** If the endpoint did not answer a login, those that waited for it fail at once, without a timeout each. */
  async function inTurn<T>(queue: Queue, number: number, work: () => Promise<T>): Promise<T> {
    if (queue.unanswered && number <= queue.unanswered.newest) throw queue.unanswered.error;
    try {
      return await work();
    } catch (error) {
      const isUnanswered = error instanceof TokenEndpointError && error.endpointStatus === undefined;
      if (isUnanswered) queue.unanswered = { newest: logins, error };
      throw error;
    }
  }

  function tooMany(domainPrefix: DomainPrefix, why: string): RateLimitedError {
    const now = clock();
    return new RateLimitedError(now + RETRY_AFTER_MS, now, undefined, { domainPrefix, why });
  }
}
