import type { Handler, Told } from "./dispatcher.js";

/** How long the rest of a body that nobody reads may take, before its connection is closed. */
const DISCARD_MS = 1000;

const REDIRECTS: readonly unknown[] = [301, 302, 303, 307, 308];

/**
 * An answer whose body may stay unread. `fetch` leaves that of a redirect it follows or refuses where it is: beyond
 * some kilobytes the connection then waits for a reader for ever (undici's issue 5728).
 */
export class UnreadAnswer {
  isRedirect = false;
  isOver = false;
  #isDiscarded = false;
  /** Lets the connection go on, if it waits for a reader. */
  #resume: (() => void) | undefined;
  /** Closes the connection. */
  #abort: ((reason: Error) => void) | undefined;

  /** @param handler of `fetch`, for one request. */
  constructor(handler: Handler) {
    if (handler.onRequestStart) this.#follow(handler);
    else this.#followOlder(handler);
  }

  /** Lets the rest of the body run by. */
  discard(): void {
    if (this.isOver || this.#isDiscarded) return;
    this.#isDiscarded = true;
    this.#resume?.();
    const reason = new Error("The rest of an answer that nobody reads did not come in time");
    setTimeout(() => this.isOver || this.#abort?.(reason), DISCARD_MS).unref();
  }

  #follow(handler: Handler): void {
    const { onRequestStart, onResponseStart, onResponseData, onResponseError } = handler;
    const own = this;
    handler.onRequestStart = function (controller, ...more) {
      own.#abort = (reason) => (controller as { abort(reason: Error): void }).abort(reason);
      return onRequestStart?.call(this, controller, ...more);
    };
    handler.onResponseStart = function (controller, status, ...more) {
      own.#headCame(status, () => (controller as { resume(): void }).resume());
      return onResponseStart?.call(this, controller, status, ...more);
    };
    handler.onResponseData = this.#unlessDiscarded(onResponseData, undefined);
    handler.onResponseError = this.#unlessDiscarded(onResponseError, undefined);
  }

  #followOlder(handler: Handler): void {
    const { onConnect, onHeaders, onData, onError } = handler;
    const own = this;
    handler.onConnect = function (abort, ...more) {
      own.#abort = abort as (reason: Error) => void;
      return onConnect?.call(this, abort, ...more);
    };
    handler.onHeaders = function (status, headers, resume, ...more) {
      own.#headCame(status, resume as () => void);
      return onHeaders?.call(this, status, headers, resume, ...more);
    };
    handler.onData = this.#unlessDiscarded(onData, true);
    handler.onError = this.#unlessDiscarded(onError, undefined);
  }

  #headCame(status: unknown, resume: () => void): void {
    this.isRedirect = REDIRECTS.includes(status);
    this.#resume = resume;
  }

  /** `fetch` would end the whole call, follow-up request and all, with the error of an answer that it left. */
  #unlessDiscarded(tell: Told | undefined, otherwise: unknown): Told {
    const own = this;
    return function (...what) {
      return own.#isDiscarded ? otherwise : tell?.apply(this, what);
    };
  }
}
