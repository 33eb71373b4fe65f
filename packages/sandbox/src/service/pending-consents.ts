import { newPageId } from "./credentials.js";

/**
 * An authorization request somebody is looking at: the consent page carries its id, and only that page can answer it.
 */
export interface PendingConsents {
  open(state: string): string;
  /** The state of the request, the first time this is asked; undefined for an unknown, answered or old one. */
  answer(id: string): string | undefined;
}

/** How long a consent page may lie open. The spec is silent. */
const patienceMs = 1_800_000;
/** Whoever opens more of them pushes the oldest out. */
const most = 500;

export function pendingConsents(now: () => number): PendingConsents {
  const pending = new Map<string, { state: string; openedAt: number }>();

  return {
    open(state) {
      const [oldest] = pending.keys();
      if (pending.size >= most && oldest !== undefined) pending.delete(oldest);
      const id = newPageId();
      pending.set(id, { state, openedAt: now() });
      return id;
    },
    answer(id) {
      const found = pending.get(id);
      pending.delete(id); // a form that is sent twice approves once
      return found && now() - found.openedAt <= patienceMs ? found.state : undefined;
    },
  };
}
