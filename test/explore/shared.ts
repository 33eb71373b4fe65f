import type { RetailerStatus, TokenSet } from "@retail-pos/core";
import { digestOf } from "./digest.js";
import type { Life } from "./process.js";
import type { Step } from "./step.js";
import type { World } from "./world/world.js";

/** The store that all processes share. */
export class Store {
  readonly #world: World;
  readonly #sets = new Map<string, TokenSet>();

  constructor(world: World) {
    this.#world = world;
  }

  get digest(): number {
    let digest = 0;
    for (const [retailer, { version }] of this.#sets) digest += digestOf(`${retailer} ${version}`) % 1e9;
    return digest;
  }

  get(retailer: string): TokenSet | undefined {
    return this.#sets.get(retailer);
  }

  set(next: TokenSet, by: Life, replacing: TokenSet | undefined): void {
    this.#world.judge.store.saved(by, this.#sets.get(next.domainPrefix), next, replacing);
    this.#sets.set(next.domainPrefix, next);
  }

  delete(retailer: string): void {
    this.#world.judge.store.removed(retailer);
    this.#sets.delete(retailer);
  }

  /** What a run begins with. */
  put(set: TokenSet): void {
    this.#sets.set(set.domainPrefix, set);
  }

  statuses(): RetailerStatus[] {
    return [...this.#sets.values()].map(({ domainPrefix, access, issuedAt, refusedAt }) => ({
      domainPrefix,
      issuedAt,
      ...(access.expiresAt !== undefined && { expiresAt: access.expiresAt }),
      ...(refusedAt !== undefined && { refusedAt }),
    }));
  }
}

/** A lock that knows who waits, first come, first served; and that a fault can take from its owner. */
export class Locks {
  readonly #world: World;
  readonly #owners = new Map<string, Life>();
  readonly #waiting = new Map<string, { life: Life; go: () => void }[]>();

  constructor(world: World) {
    this.#world = world;
  }

  get digest(): number {
    let digest = 0;
    for (const [key, life] of this.#owners) digest += digestOf(`${key} is ${life.name}'s`) % 1e9;
    for (const [key, queue] of this.#waiting)
      digest += digestOf(`${key} for ${queue.map(({ life }) => life.name)}`) % 1e9;
    return digest;
  }

  granted(life: Life, key: string): Promise<void> {
    return new Promise((resolve) => {
      const queue = this.#waiting.get(key) ?? [];
      this.#waiting.set(key, [...queue, { life, go: resolve }]);
      this.#next(key);
    });
  }

  released(life: Life, key: string): void {
    if (this.#owners.get(key) === life) this.#free(key);
  }

  /** Who could lose a lock. */
  get owned(): [key: string, life: Life][] {
    return [...this.#owners];
  }

  /** The lock goes to the next, whatever its owner does. */
  lose(key: string): void {
    const owner = this.#owners.get(key);
    if (owner) this.#world.judge.store.lockLost(owner, retailerOf(key));
    this.#free(key);
  }

  died(life: Life): void {
    for (const [key, queue] of this.#waiting)
      this.#waiting.set(
        key,
        queue.filter((one) => one.life !== life),
      );
    for (const [key, owner] of this.#owners) if (owner === life) this.#free(key);
  }

  #free(key: string): void {
    this.#owners.delete(key);
    this.#next(key);
  }

  #next(key: string): void {
    if (this.#owners.has(key)) return;
    const [first, ...others] = this.#waiting.get(key) ?? [];
    if (!first) return;
    this.#waiting.set(key, others);
    const { life, go } = first;
    this.#owners.set(key, life);
    const world = this.#world;
    const step: Step = {
      life,
      name: `gets the lock ${key}`,
      faults: [],
      happen: () => {
        if (this.#owners.get(key) === life) world.judge.store.locked(life, retailerOf(key));
        life.runs(`the lock ${key}`, go);
      },
    };
    world.add(step);
  }
}

/** The table behind core's own lease lock, by the world's clock. */
export class Leases {
  readonly #world: World;
  readonly #leases = new Map<string, { owner: string; life: Life; until: number }>();

  constructor(world: World) {
    this.#world = world;
  }

  get digest(): number {
    let digest = 0;
    for (const [key, { owner, until }] of this.#leases) digest += digestOf(`${key} ${owner} ${until}`) % 1e9;
    return digest;
  }

  take(life: Life, key: string, owner: string, leaseMs: number): boolean {
    const lease = this.#leases.get(key);
    if (lease && lease.owner !== owner && lease.until > this.#world.now) return false;
    const { store } = this.#world.judge;
    if (lease && lease.owner !== owner) store.lockLost(lease.life, retailerOf(key));
    this.#leases.set(key, { owner, life, until: this.#world.now + leaseMs });
    store.locked(life, retailerOf(key));
    return true;
  }

  extend(key: string, owner: string, leaseMs: number): boolean {
    const lease = this.#leases.get(key);
    if (lease?.owner !== owner) return false;
    this.#leases.set(key, { ...lease, until: this.#world.now + leaseMs });
    return true;
  }

  release(key: string, owner: string): boolean {
    return this.#leases.get(key)?.owner === owner && this.#leases.delete(key);
  }
}

/** A lock's key is the client id and the retailer. */
export function retailerOf(key: string): string {
  return key.slice(key.lastIndexOf("/") + 1);
}
