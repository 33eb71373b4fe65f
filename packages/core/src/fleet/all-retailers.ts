import { checkSignal, unlessAborted } from "../platform/abort.js";
import { soon } from "../platform/timers.js";
import type { CheckedStore } from "../store/checked-store.js";
import { StoreFailedError } from "../vocabulary/errors.js";
import type { RetailerStatus } from "../vocabulary/retailer-status.js";

const PAGE = 500;
/**
 * Another application's records may make pages empty. After this many empty ones in a row, the list counts as endless.
 */
const MOST_EMPTY_PAGES = 100_000;

type Arrange = (page: readonly RetailerStatus[]) => readonly RetailerStatus[];

/**
 * All retailers in a store, page by page.
 *
 * @param failed called if the list does not end; the store reports other failures itself.
 * @param arranged puts the retailers of one page in order; default: as the store lists them.
 * @throws {TypeError} the store cannot list.
 */
export function pagesThrough(
  store: CheckedStore,
  signal: AbortSignal | undefined,
  failed: (error: StoreFailedError) => void,
  arranged: Arrange = (page) => page,
): AsyncGenerator<RetailerStatus, void, void> {
  const { list } = store;
  checkSignal(signal);
  if (!list) throw new TypeError("store has no list(): its retailers cannot be asked for");
  return pages(list, signal, failed, arranged);
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

async function* pages(
  list: NonNullable<CheckedStore["list"]>,
  signal: AbortSignal | undefined,
  failed: (error: StoreFailedError) => void,
  arranged: Arrange,
): AsyncGenerator<RetailerStatus, void, void> {
  const isKnownCursor = loopDetector();
  const isKnownPage = loopDetector();
  let cursor: string | undefined;
  let empty = 0;
  do {
    signal?.throwIfAborted();
    const page = await unlessAborted(list({ limit: PAGE, ...(cursor !== undefined && { cursor }) }), signal);
    await nextTick(); // a store in this process answers at once, and timers and signals have to be seen
    for (const status of arranged(page.retailers)) {
      signal?.throwIfAborted();
      yield status;
    }
    empty = page.retailers.length === 0 ? empty + 1 : 0;
    cursor = page.cursor;
    const isLoop =
      cursor !== undefined &&
      (isKnownCursor(cursor) || (empty === 0 && isKnownPage(namesOf(page.retailers))));
    if (empty > MOST_EMPTY_PAGES || isLoop) {
      const error = new StoreFailedError("list", "The store's list() does not come to an end");
      failed(error);
      throw error;
    }
  } while (cursor !== undefined);
}

/** Names a page. Each retailer is listed once, so a repeated page shows a loop. */
function namesOf(retailers: readonly RetailerStatus[]): string {
  return retailers.map(({ domainPrefix }) => domainPrefix).join();
}

const nextTick = () => new Promise<void>((resolve) => soon(resolve));

/** Finds a loop of any length in a list, with only one step in memory (Brent's algorithm). */
function loopDetector(): (step: string) => boolean {
  let remembered: string | undefined;
  let [steps, until] = [0, 1];
  return (step) => {
    if (step === remembered) return true;
    steps += 1;
    if (steps === until) {
      remembered = step;
      until *= 2;
      steps = 0;
    }
    return false;
  };
}
