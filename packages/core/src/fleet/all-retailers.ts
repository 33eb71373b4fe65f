import { checkSignal } from "../platform/abort.js";
import { soon } from "../platform/timers.js";
import type { CheckedStore } from "../store/checked-store.js";
import { StoreFailedError } from "../vocabulary/errors.js";
import type { RetailerStatus } from "../vocabulary/retailer-status.js";

const PAGE = 500;
/** Pages are empty where other applications' records lie. After this many in a row, the list counts as endless. */
const MOST_EMPTY_PAGES = 100_000;

type Arrange = (page: readonly RetailerStatus[]) => readonly RetailerStatus[];

/**
 * All retailers that a store holds, page by page.
 *
 * @param failed told if the list never ends; other failures are told by the store.
 * @param arranged in which order those of one page come; by default as the store lists them.
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
 * In an order of this call's own. Several processes that go through one store at once would else meet at each retailer,
 * and all but one of them wait there.
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
  const cursorTurns = turnsNoticed();
  const pageTurns = turnsNoticed();
  let cursor: string | undefined;
  let empty = 0;
  do {
    signal?.throwIfAborted();
    const page = await list(cursor === undefined ? { limit: PAGE } : { limit: PAGE, cursor });
    await aTurn(); // a store in this process answers at once, and timers and signals have to be seen
    for (const status of arranged(page.retailers)) {
      signal?.throwIfAborted();
      yield status;
    }
    empty = page.retailers.length === 0 ? empty + 1 : 0;
    cursor = page.cursor;
    const isRound =
      cursor !== undefined && (cursorTurns(cursor) || (empty === 0 && pageTurns(namesOf(page.retailers))));
    if (empty > MOST_EMPTY_PAGES || isRound) {
      const error = new StoreFailedError("list", "The store's list() does not come to an end");
      failed(error);
      throw error;
    }
  } while (cursor !== undefined);
}

/** A retailer comes once, so a page that comes again was made up. */
function namesOf(retailers: readonly RetailerStatus[]): string {
  return retailers.map(({ domainPrefix }) => domainPrefix).join();
}

const aTurn = () => new Promise<void>((resolve) => soon(resolve));

/** Notices a list that goes round, however long, with one step in memory (Brent's algorithm). */
function turnsNoticed(): (step: string) => boolean {
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
