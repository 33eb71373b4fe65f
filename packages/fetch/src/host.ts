import { queueFullError } from "./errors.js";
import { HostLimit } from "./host-rate-limit.js";
import { onAbort } from "./on-abort.js";
import { LONGEST_TIMER_MS } from "./options.js";
import { Line, type Waiting } from "./queue.js";

/** So many calls may wait for one host. */
const LONGEST_LINE = 10_000;

/** A call's place in its host's order, and its patience. Kept when the call is sent again. */
export interface Place {
  readonly number: number;
  /** For the host's turn, in milliseconds; what is left of it. */
  waitLeftMs: number;
}

export interface HostOptions {
  readonly name: string;
  readonly perHost: number;
  readonly wait429Ms: number;
  /** Told once nothing is under way, nobody waits, and nothing has to be remembered. */
  readonly onIdle: () => void;
}

/**
 * Who may call one host now. It owns the count of what is under way and the two lines of those who wait:
 * calls with patience wait for a connection and for the host's turn, all others for a connection only.
 */
export class Host {
  readonly #options: HostOptions;
  readonly #limit = new HostLimit();
  readonly #patient = new Line();
  readonly #hasty = new Line();
  #underWay = 0;
  /** Calls that have not ended: who was answered 429 may have to wait once more. */
  #places = 0;
  #numbers = 0;
  /** For the moment at which somebody who waits may start, or at which there is nothing to remember any more. */
  #timer: NodeJS.Timeout | undefined;

  constructor(options: HostOptions) {
    this.#options = options;
  }

  /** With its port, if that is one of its own. */
  get name(): string {
    return this.#options.name;
  }

  /** For a call that comes now. It has the place until {@link ended}. */
  place(isRepeatable: boolean): Place {
    this.#numbers += 1;
    this.#places += 1;
    return { number: this.#numbers, waitLeftMs: isRepeatable ? this.#options.wait429Ms : 0 };
  }

  /**
   * Resolves when the call may start, which then counts as under way until {@link left}.
   *
   * @throws {RetailFetchError} `queue_full`, and the signal's reason.
   */
  start(place: Place, signal: AbortSignal | undefined, isSentAgain: boolean): Promise<void> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    return new Promise((resolve, reject) => {
      let deaf: (() => void) | undefined;
      const waiting: Waiting = {
        ...place,
        start: () => {
          deaf?.();
          place.waitLeftMs = waiting.waitLeftMs;
          resolve();
        },
        fail: (reason) => {
          deaf?.();
          reject(reason);
        },
      };
      this.#join(waiting);
      if (!waiting.line) return;
      if (this.#waiting > LONGEST_LINE && !isSentAgain) {
        return this.#leave(waiting, queueFullError(this.#options.name, LONGEST_LINE));
      }
      deaf = signal && onAbort(signal, () => this.#leave(waiting, signal.reason));
    });
  }

  /** A call that had a place has its answer, or failed. */
  ended(): void {
    this.#places -= 1;
    this.#startNext();
  }

  /** The connection of a call is free again. */
  left(): void {
    this.#underWay -= 1;
    this.#startNext();
  }

  /** @param sentAt when the call was sent that is answered so, epoch milliseconds. */
  learn({ status, headers }: Response, sentAt: number): void {
    const now = Date.now();
    const turnBefore = Math.max(this.#limit.turnAt(), now);
    this.#limit.learn(status, headers, { now, sentAt });
    const longerMs = Math.max(this.#limit.turnAt(), now) - turnBefore;
    if (longerMs !== 0) this.#hasty.add(...[...this.#patient].filter((one) => !this.#spend(one, longerMs)));
    this.#startNext();
  }

  /** Whether a call that was answered 429 can wait for the host's turn, and be sent again. */
  canWait({ waitLeftMs }: Place): boolean {
    return waitLeftMs > 0 && this.#limit.turnAt() - Date.now() <= waitLeftMs;
  }

  /** Everybody who waits is told, and leaves. Nobody starts in between, though the host's turn may have come. */
  dismiss(reason: unknown): void {
    for (const waiting of [...this.#patient, ...this.#hasty]) this.#refuse(waiting, reason);
    this.#startNext();
  }

  get #waiting(): number {
    return this.#patient.size + this.#hasty.size;
  }

  #join(waiting: Waiting): void {
    (waiting.waitLeftMs > 0 ? this.#patient : this.#hasty).add(waiting);
    const ms = this.#limit.turnAt() - Date.now();
    if (waiting.waitLeftMs > 0 && ms > 0 && !this.#spend(waiting, ms)) this.#hasty.add(waiting);
    this.#startNext();
  }

  #leave(waiting: Waiting, reason: unknown): void {
    this.#refuse(waiting, reason);
    this.#startNext();
  }

  #refuse(waiting: Waiting, reason: unknown): void {
    waiting.line?.remove(waiting);
    waiting.fail(reason);
  }

  /**
   * Of a call's patience, as soon as the wait is known.
   *
   * @param ms below 0, the turn comes sooner than was known: that much was not needed.
   * @returns whether it is enough. If not, the call leaves its line: it does not wait for the turn.
   */
  #spend(waiting: Waiting, ms: number): boolean {
    if (ms <= waiting.waitLeftMs) {
      waiting.waitLeftMs = Math.min(waiting.waitLeftMs - ms, this.#options.wait429Ms);
      return true;
    }
    this.#patient.remove(waiting);
    waiting.waitLeftMs = 0;
    return false;
  }

  #startNext(): void {
    const now = Date.now();
    for (;;) {
      const next = this.#underWay < this.#room(now) ? this.#next(now) : undefined;
      if (!next) break;
      next.line?.remove(next);
      this.#underWay += 1;
      next.start();
    }
    this.#wakeLater(now);
  }

  #room(now: number): number {
    return Math.min(this.#options.perHost, this.#limit.room(now));
  }

  /** Whoever came first of those who need not wait for the host's turn. */
  #next(now: number): Waiting | undefined {
    const patient = now < this.#turnAt(now) ? undefined : this.#patient.first;
    const hasty = this.#hasty.first;
    return patient && hasty ? (patient.number < hasty.number ? patient : hasty) : (patient ?? hasty);
  }

  /** Nobody waits for a turn beyond all patience: if one is that far away, the clock was set back, and it is over. */
  #turnAt(now: number): number {
    const turnAt = this.#limit.turnAt();
    return turnAt - now > this.#options.wait429Ms ? now : turnAt;
  }

  #wakeLater(now: number): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const isIdle = this.#underWay === 0 && this.#places === 0;
    if (!isIdle && this.#waiting === 0) return;
    const at = this.#changesAt(now);
    if (at === undefined) {
      if (isIdle) this.#options.onIdle();
      return;
    }
    this.#timer = setTimeout(() => this.#startNext(), Math.min(at - now, LONGEST_TIMER_MS));
    if (isIdle) this.#timer.unref(); // it only forgets; a call that waits is work, and keeps the process alive
  }

  /** The next instant at which more calls may start than now, as far as that is worth remembering. */
  #changesAt(now: number): number | undefined {
    const turnAt = this.#turnAt(now);
    const isWaitedFor = now < turnAt;
    const knownUntil = this.#limit.knownUntil();
    const isNarrow = now < knownUntil && this.#limit.room(now) < this.#options.perHost;
    const instants = [...(isWaitedFor ? [turnAt] : []), ...(isNarrow ? [knownUntil] : [])];
    return instants.length > 0 ? Math.min(...instants) : undefined;
  }
}
