import type { TokenSet } from "@retail-pos/core";
import type { Life } from "../process.js";
import type { PromiseName, Violation } from "../promises.js";
import type { Family } from "../service.js";
import type { World } from "../world/world.js";
import { Knowledge, type Request } from "./knowledge.js";

/** Of one retailer: what was true of the store, and when. Instants "in" are numbers of steps. */
export class Record {
  /** When each access token was last in the store; the one that is there now is in `stored`. */
  readonly leftIn = new Map<string, number>();
  readonly leftAt = new Map<string, number>();
  stored: TokenSet | undefined;
  nothingIn = -1;
  refusedIn = -1;
  /** The login whose tokens the store should hold. */
  connected: Family | undefined;
  /** Refresh tokens that reached somebody who could have kept them. */
  readonly received = new Set<string>();
  readonly requests: Request[] = [];
  /** Refresh tokens of which an observer was told that the service refuses them. */
  readonly announced = new Set<string>();
  /** Those whose mark the store did not take at once. */
  readonly unmarked = new Set<string>();

  /** The last instant at which the store held this access token; -1: never. */
  lastIn(access: string): number {
    if (this.stored?.access.value === access) return Number.POSITIVE_INFINITY;
    return this.leftIn.get(access) ?? -1;
  }
}

/** What is true of each retailer, what each process can know of it, and the first promise that was broken. */
export class Book {
  readonly world: World;
  readonly records = new Map<string, Record>();
  readonly #knowledge = new Map<Life, Map<string, Knowledge>>();
  violation: Violation | undefined;

  constructor(world: World) {
    this.world = world;
  }

  must(condition: boolean, promise: PromiseName, what: () => string): void {
    if (!condition) this.violation ??= { promise, what: what() };
  }

  of(retailer: string): Record {
    return kept(this.records, retailer, () => new Record());
  }

  knows(life: Life, retailer: string): Knowledge {
    return kept(this.knowledgeOf(life), retailer, () => new Knowledge());
  }

  /** By retailer. */
  knowledgeOf(life: Life): Map<string, Knowledge> {
    return kept(this.#knowledge, life, () => new Map<string, Knowledge>());
  }
}

/** What the map has for a key, made if it is not there yet. */
function kept<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  const found = map.get(key);
  if (found !== undefined) return found;
  const made = make();
  map.set(key, made);
  return made;
}
