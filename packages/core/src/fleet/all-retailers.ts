import { checkSignal, unlessAborted } from "../platform/abort.js";
import { nextTurn } from "../platform/timers.js";
import { type CheckedStore, checkedStore } from "../store/checked-store.js";
import { StoreFailedError } from "../vocabulary/errors.js";
import { type Tell, tellStoreFailed } from "../vocabulary/events.js";
import type { RetailerStatus } from "../vocabulary/retailer-status.js";
import { versionsOf } from "../vocabulary/token-set-versions.js";
import type { TokenStore } from "../vocabulary/token-store.js";

const PAGE = 500;
/**
 * Another application's records may make pages empty. After this many empty ones in a row, the list counts as endless.
 */
const MOST_EMPTY_PAGES = 100_000;

type Arrange = (page: readonly RetailerStatus[]) => readonly RetailerStatus[];

/**
 * All retailers in a store, page by page.
 *
 * @param tell told if the list does not end; the store reports other failures itself.
 * @param arranged puts the retailers of one page in order; default: as the store lists them.
 * @throws {TypeError} the store cannot list.
 */
export function pagesThrough(
  store: CheckedStore,
  signal: AbortSignal | undefined,
  tell: Tell,
  arranged: Arrange = (page) => page,
): AsyncGenerator<RetailerStatus, void, void> {
  checkSignal(signal);
  if (!store.list) throw new TypeError("store has no list(): its retailers cannot be asked for");
  return pages(store.list);

  async function* pages(list: NonNullable<CheckedStore["list"]>): AsyncGenerator<RetailerStatus, void, void> {
    let cursor: string | undefined;
    const seen = new Set<string>();
    const isSeen = (step: string) => seen.size === seen.add(step).size;
    let empty = 0;
    do {
      signal?.throwIfAborted();
      const page = await unlessAborted(
        list({ limit: PAGE, ...(cursor !== undefined && { cursor }) }),
        signal,
      );
      await nextTurn(); // a store in this process answers at once, and timers and signals have to be seen
      for (const status of arranged(page.retailers)) {
        signal?.throwIfAborted();
        yield status;
      }
      empty = page.retailers.length === 0 ? empty + 1 : 0;
      cursor = page.cursor;
      // Each retailer is listed once, so a page that comes again shows a loop, too.
      const ends = [page.retailers.at(0), page.retailers.at(-1)].map((status) => status?.domainPrefix);
      const isLoop =
        cursor !== undefined && (isSeen(`cursor ${cursor}`) || (empty === 0 && isSeen(`page ${ends}`)));
      if (empty > MOST_EMPTY_PAGES || isLoop) {
        const error = new StoreFailedError("list", "The store's list() does not come to an end");
        tellStoreFailed(tell, error);
        throw error;
      }
    } while (cursor !== undefined);
  }
}

/** All retailers of a store, for a tool without a client. Each is checked, and an endless list is an error. */
export function retailersIn(store: TokenStore, signal?: AbortSignal): AsyncIterable<RetailerStatus> {
  return pagesThrough(
    checkedStore(store, versionsOf(""), () => {}),
    signal,
    () => {},
  );
}

/**
 * Puts a page in random order. If several processes went through one store in the same order, they would come to each
 * retailer at the same time, and all but one would wait.
 */
export function shuffled<T>(all: readonly T[]): T[] {
  return all
    .map((one) => ({ one, place: Math.random() }))
    .sort((first, second) => first.place - second.place)
    .map(({ one }) => one);
}
