import type { Call } from "../process.js";
import type { Violation } from "../promises.js";
import type { World } from "../world/world.js";
import { Book } from "./book.js";
import { CallerWatch } from "./caller-watch.js";
import { digestOfBook } from "./digest-of-book.js";
import { RequestWatch } from "./request-watch.js";
import { StoreWatch } from "./store-watch.js";

/** Watches everything that passes between the processes and the world, and says which promise was broken first. */
export class Judge {
  readonly book: Book;
  readonly store: StoreWatch;
  readonly requests: RequestWatch;
  readonly callers: CallerWatch;
  readonly must: Book["must"];

  constructor(world: World) {
    this.book = new Book(world);
    this.store = new StoreWatch(this.book);
    this.requests = new RequestWatch(this.book);
    this.callers = new CallerWatch(this.book);
    this.must = (condition, promise, what) => this.book.must(condition, promise, what);
  }

  get violation(): Violation | undefined {
    return this.book.violation;
  }

  /** What judgements to come depend on, beside what the processes have seen. */
  get digest(): number {
    return digestOfBook(this.book);
  }

  /** After every step, when all that was ready has run: what is true at this instant. */
  instant(): void {
    const { seq, service, lives } = this.book.world;
    for (const life of lives) this.requests.nobodyWaitsLong(life);
    for (const [retailer, record] of this.book.records) {
      const { stored } = record;
      if (!stored) record.nothingIn = seq;
      else if (service.refused.has(stored.refreshToken)) record.refusedIn = seq;
      for (const life of lives) this.callers.nobodyWaits(life, retailer);
    }
  }

  /** Everything is well again and everybody has asked: what was not lost has to be there. */
  atTheEnd(): void {
    const { service } = this.book.world;
    for (const [retailer, { connected, stored, received }] of this.book.records) {
      const accepted = service.accepted(retailer);
      if (!connected || accepted === undefined || service.familyOf(accepted) !== connected) continue;
      if (!received.has(accepted)) continue;
      const isStored = stored?.refreshToken === accepted;
      const found = stored?.refreshToken ?? "nothing";
      this.must(isStored, "loss", () => `the store holds ${found}, and not ${accepted}`);
    }
  }

  /** The same, of one who asked then. */
  works({ life, retailer, outcome }: Call): void {
    const { stored } = this.book.of(retailer);
    const accepted = this.book.world.service.accepted(retailer);
    const isGood = stored !== undefined && accepted === stored.refreshToken;
    const what = outcome && "error" in outcome ? String(Object(outcome.error).code) : "no answer";
    const isGiven = outcome !== undefined && "token" in outcome;
    this.must(!isGood || isGiven, "works", () => `${life.name} gets ${what} in the end`);
  }
}
