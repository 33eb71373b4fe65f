import { Digest, digestOf } from "../digest.js";
import type { Life } from "../process.js";
import type { Book, Record } from "./book.js";

/**
 * What judgements to come depend on, beside the histories of the processes: how instants of the store compare with
 * instants of callers and of what a process was told, and who may know of which token request.
 */
export function digestOfBook(book: Book): number {
  const digest = new Digest();
  for (const [retailer, record] of book.records) {
    digest.add(record.connected?.number ?? 0);
    digest.add(record.received.size);
    let hidden = 0;
    for (const { isHidden, isKept, unseenBy } of record.requests)
      hidden = (hidden * 16 + unseenBy.size * 4 + (isHidden ? 2 : 0) + (isKept ? 1 : 0)) % 1e9;
    digest.add(hidden);
    for (const life of book.world.lives) addLife(digest, book, life, retailer, record);
    if (book.world.scenario.cacheMs > 0)
      for (const [value, at] of record.leftAt) digest.add(digestOf(value) + at);
  }
  return digest.key;
}

function addLife(digest: Digest, book: Book, life: Life, retailer: string, record: Record): void {
  const { toldIn, changeFailedIn, hasLostLock, lastRequestIn } = book.knows(life, retailer);
  digest.add(hasLostLock ? 1 : 0);
  digest.add(record.refusedIn >= lastRequestIn ? 1 : 0);
  for (const [value, at] of record.leftIn)
    digest.add(digestOf(value) + (at >= toldIn ? 1 : 0) + (at >= changeFailedIn ? 2 : 0));
  for (const call of life.calls) {
    if (call.retailer !== retailer) continue;
    digest.add(record.nothingIn >= call.beganIn ? 1 : 0);
    digest.add(record.refusedIn >= call.beganIn ? 1 : 0);
    for (const [value, at] of record.leftIn) if (at >= call.beganIn) digest.add(digestOf(value));
  }
}
