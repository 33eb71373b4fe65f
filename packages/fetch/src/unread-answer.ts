import type { Watch } from "./watch.js";

/** How long the rest of a body that nobody reads may take, before its connection is closed. */
const DISCARD_MS = 1000;

const REDIRECTS: readonly unknown[] = [301, 302, 303, 307, 308];

/**
 * An answer whose body may stay unread. `fetch` leaves that of a redirect it follows or refuses where it is: beyond
 * some kilobytes the connection then waits for a reader for ever (undici's issue 5728).
 */
export class UnreadAnswer implements Watch {
  isRedirect = false;
  #isOver = false;
  #isDiscarded = false;
  readonly #onOver: () => void;
  /** Lets the connection go on, if it waits for a reader. */
  #goOn: (() => void) | undefined;
  /** Closes the connection. */
  #abort: ((reason: Error) => void) | undefined;

  /** @param onOver told once, when the request is over. */
  constructor(onOver: () => void) {
    this.#onOver = onOver;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Lets the rest of the body run by. */
  discard(): void {
    if (this.#isOver || this.#isDiscarded) return;
    this.#isDiscarded = true;
    this.#goOn?.();
    const reason = new Error("The rest of an answer that nobody reads did not come in time");
    setTimeout(() => this.#isOver || this.#abort?.(reason), DISCARD_MS).unref();
  }

  begun(abort: (reason: Error) => void): void {
    this.#abort = abort;
  }

  head(status: unknown, _headers: unknown, goOn: () => void): void {
    this.isRedirect = REDIRECTS.includes(status);
    this.#goOn = goOn;
  }

  /** `fetch` would end the whole call, follow-up request and all, with the error of an answer that it left. */
  isSilent(): boolean {
    return this.#isDiscarded;
  }

  over(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#onOver();
  }
}
