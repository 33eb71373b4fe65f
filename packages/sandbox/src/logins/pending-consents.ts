import { newPageId } from "../secrets.js";
import type { Asked } from "./authorization-request.js";

/**
 * Authorization requests whose consent page is open. Each page has an id, and only that page can answer its request.
 */
export interface PendingConsents {
  open(asked: Asked): string;
  /** The request, the first time this is asked; undefined for an unknown, answered or old one. */
  answer(id: string): Asked | undefined;
}

/** How long a consent page may lie open. The spec is silent. */
const patienceMs = 1_800_000;
/** Beyond this the oldest go: the page is open to anybody, and must not fill the memory. */
const most = 500;

export function pendingConsents(now: () => number): PendingConsents {
  const pending = new Map<string, { asked: Asked; openedAt: number }>();

  return {
    open(asked) {
      const [oldest] = pending.keys();
      if (pending.size >= most && oldest !== undefined) pending.delete(oldest);
      const id = newPageId();
      pending.set(id, { asked, openedAt: now() });
      return id;
    },
    answer(id) {
      const found = pending.get(id);
      pending.delete(id); // a form that is sent twice approves once
      return found && now() - found.openedAt <= patienceMs ? found.asked : undefined;
    },
  };
}
