import { Digest, digestOf } from "../digest.js";
import type { World } from "./world.js";

/** Two runs with the same key have the same future. */
export function keyOf(world: World): number {
  const digest = new Digest();
  for (const life of world.lives) {
    digest.add(life.history.key);
    digest.add(life.number * 2 + (life.isPaused ? 1 : 0));
    if (life.cutOffUntil > world.now) digest.add(life.cutOffUntil);
    if (life.setBackMs > 0) digest.add(life.setBackMs);
  }
  let sum = 0;
  for (const { life, name, delayedUntil = 0 } of world.steps)
    sum += (digestOf(name) % 1e9) * ((life?.place.number ?? 7) + 1) + (delayedUntil % 1e9);
  for (const part of [sum, world.store.digest, world.locks.digest, world.leases.digest]) digest.add(part);
  for (const part of [world.service.digest, world.judge.digest, world.now, ...world.skews]) digest.add(part);
  for (const { position } of world.actors) digest.add(position);
  digest.add(world.current?.place.number ?? 9);
  digest.add(world.left.faults);
  return digest.key;
}
