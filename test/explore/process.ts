import type { AccessToken, DomainPrefix, RetailPos, RetailPosEvent, TokenAsk } from "@retail-pos/core";
import type { Core, Surroundings } from "./core.js";
import { Digest, digestOf } from "./digest.js";
import type { Request } from "./judge/knowledge.js";
import { fetchOf, lockOf, storeOf } from "./outside.js";
import type { World } from "./world/world.js";

interface Timer {
  due: number;
  readonly work: () => void;
  readonly everyMs: number | undefined;
  /** Whose deadline it is. */
  readonly request: Request | undefined;
  unref(): void;
}

/** Core's `timeoutMs`, as it is by default. */
export const DEADLINE_MS = 10_000;

/** The place of one process: its machine's clock, and a core whose time and chance are the world's. */
export class Place {
  readonly number: number;
  readonly core: typeof Core;
  /** The process that runs here now. */
  life!: Life;

  constructor(number: number, load: (around: Surroundings) => typeof Core) {
    this.number = number;
    const set = (work: () => void, ms = 0) => this.life.setTimer(work, ms);
    const clear = (timer: unknown) => void this.life.timers.delete(timer as Timer);
    this.core = load({
      setTimeout: set,
      clearTimeout: clear,
      setInterval: (work, ms = 0) => this.life.setTimer(work, ms, ms),
      clearInterval: clear,
      setImmediate: (work) => this.life.soon(work),
      performance: { now: () => this.life.world.now },
      crypto: { randomUUID: () => this.life.uuid() },
      AbortSignal: { timeout: (ms) => this.life.waitsLonger(ms) },
      Math: Object.defineProperty(copyOfMath(), "random", { value: () => 0 }),
    });
  }
}

/** One process from its start to its end. */
export class Life {
  readonly world: World;
  readonly place: Place;
  /** The how manieth at its place. */
  readonly number: number;
  isAlive = true;
  /** It stands still: nothing happens here while anything can happen elsewhere. */
  isPaused = false;
  /** By how much its clock was set back while it lived. */
  setBackMs = 0;
  /** Until then it cannot reach the store. */
  cutOffUntil = 0;
  /** The fleet's job forgets those that it alone has met. */
  runsTheJob = false;
  /** All that has reached this process. What it does next depends on nothing else. */
  readonly history = new Digest();
  readonly timers = new Set<Timer>();
  readonly calls = new Set<Call>();
  /** Token requests that somebody waits for. */
  readonly requests = new Set<Request>();
  readonly pos: RetailPos;
  readonly #turns: (() => void)[] = [];
  #uuids = 0;
  /** The request that was sent just now: core's next timer is its deadline. */
  #sent: Request | undefined;
  /** The request whose deadline ends just now. */
  #ending: Request | undefined;

  constructor(world: World, place: Place, number: number) {
    this.world = world;
    this.place = place;
    this.number = number;
    place.life = this;
    const { scenario } = world;
    this.pos = place.core.retailPos({
      baseUrl: "https://{domain_prefix}.pos.example",
      clientId: "app",
      clientSecret: "client-secret",
      store: storeOf(this),
      lock: lockOf(this),
      fetch: fetchOf(this),
      cacheMs: scenario.cacheMs,
      clock: () => this.now,
      observe: (event: RetailPosEvent) => world.judge.callers.observed(this, event),
    });
  }

  get name(): string {
    return this.number > 1 ? `P${this.place.number}'${this.number}` : `P${this.place.number}`;
  }

  /** By this machine's clock. */
  get now(): number {
    return this.world.now + (this.world.skews[this.place.number] ?? 0);
  }

  get hasTimersDue(): boolean {
    for (const { due } of this.timers) if (due <= this.world.now) return true;
    return false;
  }

  setTimer(work: () => void, ms: number, everyMs?: number): Timer {
    // The last part of a deadline has a timer of its own.
    const request = this.#sent ?? this.#ending;
    this.#sent = undefined;
    const timer = { due: this.world.now + ms, work, everyMs, request, unref() {} };
    this.timers.add(timer);
    return timer;
  }

  /** Core's deadline for a token request has passed: nobody waits for the answer, and core does for so long. */
  waitsLonger(ms: number): AbortSignal {
    if (this.#ending) this.givesUp(this.#ending);
    const end = new AbortController();
    this.setTimer(() => end.abort(), ms);
    return end.signal;
  }

  sends(request: Request): void {
    this.requests.add(request);
    this.#sent = request;
  }

  givesUp(request: Request): void {
    if (this.requests.delete(request)) this.world.judge.requests.givenUp(this, request);
  }

  fire(timer: Timer): void {
    if (timer.everyMs === undefined) this.timers.delete(timer);
    else timer.due = this.world.now + timer.everyMs;
    this.reached("a timer");
    this.#ending = timer.request;
    timer.work();
    this.#ending = undefined;
  }

  /** Core lets everything that is ready go first. A turn of the event loop is a step, and turns keep their order. */
  soon(work: () => void): void {
    this.#turns.push(work);
    if (this.#turns.length === 1) this.#nextTurn();
  }

  #nextTurn(): void {
    const happen = () => {
      const work = this.#turns.shift();
      if (this.#turns.length > 0) this.#nextTurn();
      if (work) this.runs("a turn", work);
    };
    this.world.add({ life: this, name: "goes on", faults: [], happen });
  }

  /** Turns of its event loop that are due. */
  get turns(): number {
    return this.#turns.length;
  }

  /** Something reaches this process, and its code runs. */
  runs(what: string, work: () => void): void {
    if (!this.isAlive) return;
    this.reached(what);
    work();
  }

  reached(what: string): void {
    this.history.add(digestOf(what));
    this.history.add(this.now);
  }

  uuid(): string {
    this.#uuids += 1;
    const digits = [this.place.number + 1, this.number, this.#uuids].map((part) =>
      String(part).padStart(4, "0"),
    );
    return `00000000-${digits.join("-")}-000000000000`;
  }

  token(retailer: string, ask?: TokenAsk): Call {
    return new Call(this, retailer, ask);
  }

  die(): void {
    this.isAlive = false;
    this.timers.clear();
    this.calls.clear();
    this.#turns.length = 0;
  }
}

/** Somebody who asked for a token. */
export class Call {
  readonly life: Life;
  readonly retailer: string;
  readonly rejected: string | undefined;
  /** When it came, by its process's clock, by the world's, and among all instants. */
  readonly beganAt: number;
  readonly begunAt: number;
  readonly beganIn: number;
  /** The latest instant of which its process had been told by then, and the last failed change. */
  readonly toldIn: number;
  readonly changeFailedIn: number;
  /** The first question to the store that began no earlier. */
  readonly firstLoad: number;
  outcome: { readonly token: AccessToken } | { readonly error: unknown } | undefined;
  readonly settled: Promise<void>;

  constructor(life: Life, retailer: string, ask: TokenAsk | undefined) {
    const { judge, seq, now } = life.world;
    const { toldIn, changeFailedIn, loads } = judge.book.knows(life, retailer);
    this.life = life;
    this.retailer = retailer;
    this.rejected = ask?.rejected;
    this.beganAt = life.now;
    this.begunAt = now;
    this.beganIn = seq - 1;
    this.toldIn = toldIn;
    this.changeFailedIn = changeFailedIn;
    this.firstLoad = loads + 1;
    life.calls.add(this);
    judge.callers.asked(this);
    this.settled = life.pos
      .tokens(retailer as DomainPrefix)
      .token(ask)
      .then(
        (token) => this.#over({ token }),
        (error) => this.#over({ error }),
      );
  }

  #over(outcome: NonNullable<Call["outcome"]>): void {
    if (!this.life.calls.delete(this)) return;
    this.outcome = outcome;
    this.life.world.judge.callers.answered(this, outcome);
  }
}

function copyOfMath(): Math {
  return Object.defineProperties({}, Object.getOwnPropertyDescriptors(Math)) as Math;
}
