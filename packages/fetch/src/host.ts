import { setMaxListeners } from "node:events";
import { discard } from "@retail-pos/core/authoring";
import { RetailFetchError } from "./errors.js";
import { HostLimit } from "./host-rate-limit.js";

/** So many calls may wait for one host. */
const LONGEST_LINE = 10_000;

export interface HostOptions {
  /** With its port, if that is one of its own. */
  readonly name: string;
  readonly perHost: number;
  readonly wait429Ms: number;
  /** Told once nothing is under way, nobody waits, and nothing has to be remembered. */
  readonly onIdle: () => void;
}

export interface HostCall {
  readonly signal: AbortSignal | undefined;
  /** It may wait for the host's turn, and be sent again. */
  readonly isRepeatable: boolean;
  send(): Promise<Sent>;
}

export interface Sent {
  readonly answer: Response;
  /** Whether it tells of this host's limit. */
  readonly isOfHost: boolean;
  /** Resolves once the call needs no connection any more. */
  readonly over: Promise<void>;
}

/** A call's place in its host's order. Kept when the call is sent again. */
interface Place {
  readonly number: number;
  /** For the host's turn, in milliseconds. Below 0: it does not wait for that. */
  patienceMs: number;
  start(): void;
  fail(reason: unknown): void;
}

/** Who may call one host now: as many as it may have connections, or as its rate limit leaves, in their order. */
export class Host {
  readonly #options: HostOptions;
  readonly #limit = new HostLimit();
  /** In the order of their numbers. */
  readonly #waiting: Place[] = [];
  #underWay = 0;
  #calls = 0;
  #numbers = 0;
  #isDismissed = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: HostOptions) {
    this.#options = options;
  }

  /** @throws {RetailFetchError} `queue_full`, `closed`; the signal's reason; what `fetch` throws. */
  async call({ signal, isRepeatable, send }: HostCall): Promise<Response> {
    if (this.#waiting.length >= LONGEST_LINE) throw new RetailFetchError("queue_full", this.#options.name);
    const patienceMs = isRepeatable ? this.#options.wait429Ms : -1;
    this.#numbers += 1;
    const place: Place = { number: this.#numbers, patienceMs, start() {}, fail() {} };
    const leave = () => {
      const at = this.#waiting.indexOf(place);
      if (at >= 0) this.#waiting.splice(at, 1)[0]?.fail(signal?.reason);
    };
    // Thousands may wait with one signal. `fetch` itself allows 1,500 listeners before Node warns of a leak.
    if (signal instanceof EventTarget) setMaxListeners(0, signal);
    signal?.addEventListener("abort", leave);
    this.#calls += 1;
    try {
      for (;;) {
        await this.#turnOf(place);
        const { answer, isOfHost } = await this.#ask(send);
        const waitMs = this.#waitMs(Date.now());
        const canWait = !this.#isDismissed && !signal?.aborted && 0 < waitMs && waitMs <= place.patienceMs;
        if (!isOfHost || answer.status !== 429 || !canWait) return answer;
        discard(answer.body);
      }
    } finally {
      signal?.removeEventListener("abort", leave);
      this.#calls -= 1;
      this.#startNext();
    }
  }

  /** Tells everybody who waits, and lets nobody wait from now on. */
  dismiss(): void {
    this.#isDismissed = true;
    for (const one of this.#waiting.splice(0)) one.fail(new RetailFetchError("closed", this.#options.name));
  }

  #turnOf(place: Place): Promise<void> {
    return new Promise((start, fail) => {
      Object.assign(place, { start, fail });
      place.patienceMs -= this.#waitMs(Date.now());
      const before = this.#waiting.findLastIndex(({ number }) => number < place.number);
      this.#waiting.splice(before + 1, 0, place);
      this.#startNext();
    });
  }

  async #ask(send: HostCall["send"]): Promise<Sent> {
    let over: Promise<unknown> = Promise.resolve();
    try {
      const sentAt = Date.now();
      const sent = await send();
      over = sent.over;
      if (sent.isOfHost) this.#learn(sent.answer, sentAt);
      return sent;
    } finally {
      void over.then(() => {
        this.#underWay -= 1;
        this.#startNext();
      });
    }
  }

  #learn({ status, headers }: Response, sentAt: number): void {
    const now = Date.now();
    const waitMs = this.#waitMs(now);
    this.#limit.learn(status, headers, { now, sentAt });
    const longerMs = this.#waitMs(now) - waitMs;
    if (longerMs !== 0) for (const one of this.#waiting) if (one.patienceMs >= 0) one.patienceMs -= longerMs;
  }

  /** How long it is until the host's turn. */
  #waitMs(now: number): number {
    return Math.max(0, this.#limit.turnAt() - now);
  }

  /** Starts those who may start now, and comes back when more may. */
  #startNext(): void {
    const { perHost, wait429Ms, onIdle } = this.#options;
    const now = Date.now();
    const room = this.#limit.room(now);
    const waitMs = this.#waitMs(now);
    const isAhead = waitMs > 0 && waitMs <= wait429Ms; // beyond all patience, nobody waits for it
    while (this.#underWay < Math.min(perHost, room)) {
      const at = isAhead ? this.#waiting.findIndex(({ patienceMs }) => patienceMs < 0) : 0;
      const [next] = at < 0 ? [] : this.#waiting.splice(at, 1);
      if (!next) break;
      this.#underWay += 1;
      next.start();
    }
    const untilMs = room < perHost ? Math.max(0, this.#limit.knownUntil - now) : 0;
    const changesInMs = [isAhead ? waitMs : 0, untilMs].filter((ms) => ms > 0);
    clearTimeout(this.#timer);
    if (changesInMs.length > 0) {
      this.#timer = setTimeout(() => this.#startNext(), Math.min(...changesInMs));
      // A call that waits is work, and keeps the process alive; a limit that is remembered does not.
      if (this.#calls === 0) this.#timer.unref();
    } else if (this.#calls + this.#underWay === 0) onIdle();
  }
}
