import type { Handler } from "./dispatcher.js";

const REDIRECTS: readonly unknown[] = [301, 302, 303, 307, 308];

/**
 * An answer whose body may stay unread. `fetch` leaves that of a redirect it follows or refuses where it is: beyond
 * some kilobytes the connection then waits for a reader for ever (undici's issue 5728).
 */
export class UnreadAnswer {
  isRedirect = false;
  isOver = false;
  readonly #handler: Handler;
  /** Lets the connection go on, if it waits for a reader. */
  #resume: (() => void) | undefined;

  /** @param handler of `fetch`, for one request. */
  constructor(handler: Handler) {
    this.#handler = handler;
    const headCame = (status: unknown, resume: () => void) => {
      this.isRedirect = REDIRECTS.includes(status);
      this.#resume = resume;
    };
    if (handler.onRequestStart) {
      const { onResponseStart } = handler;
      handler.onResponseStart = function (controller, status, ...more) {
        headCame(status, () => (controller as { resume(): void }).resume());
        return onResponseStart?.call(this, controller, status, ...more);
      };
    } else {
      const { onHeaders } = handler;
      handler.onHeaders = function (status, headers, resume, ...more) {
        headCame(status, resume as () => void);
        return onHeaders?.call(this, status, headers, resume, ...more);
      };
    }
  }

  /** Lets the rest of the body run by. */
  discard(): void {
    if (this.isOver) return;
    if (this.#handler.onRequestStart) this.#handler.onResponseData = () => {};
    else this.#handler.onData = () => true;
    this.#resume?.();
  }
}
