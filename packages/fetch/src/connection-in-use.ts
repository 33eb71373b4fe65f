import type { Connections, DispatchOptions, Handler } from "./dispatcher.js";
import { UnreadAnswer } from "./unread-answer.js";
import { watch } from "./watch.js";

/**
 * Goes to `fetch` as the `dispatcher` of one call, and tells when the call needs no connection any more: its answer
 * is there, and the last byte of it has come, or it was cancelled or broke. `fetch` itself cancels the body of an
 * answer that is garbage-collected before anybody began to read it. A redirect is one more request of the same call.
 */
export class ConnectionInUse implements Connections {
  /** What the caller gave. A `Request` follows the signal it was made with only as long as somebody holds it. */
  readonly given: unknown;
  readonly #connections: Connections;
  readonly #over: () => void;
  /** Whoever may still need a connection. At first the caller, until {@link release}. */
  #users = 1;
  #isOver = false;
  #last: { readonly request: DispatchOptions; readonly answer: UnreadAnswer } | undefined;

  constructor(connections: Connections, over: () => void, given: unknown) {
    this.#connections = connections;
    this.#over = over;
    this.given = given;
  }

  get isMockActive(): boolean {
    return this.#connections.isMockActive === true;
  }

  dispatch(request: DispatchOptions, handler: Handler): boolean {
    if (this.#last?.answer.isRedirect) this.#last.answer.discard();
    const answer = new UnreadAnswer(() => this.release());
    this.#last = { request, answer };
    this.#users += 1;
    watch(handler, answer);
    try {
      return this.#connections.dispatch(request, handler);
    } catch (error) {
      answer.over(); // a dispatcher that threw tells the handler nothing
      throw error;
    }
  }

  /** Somebody needs it no more: the caller has an answer, or one of the requests is over. */
  release(): void {
    this.#users -= 1;
    if (this.#users > 0 || this.#isOver) return;
    this.#isOver = true;
    this.#over();
  }

  /** `fetch` failed: nobody has the last answer, if there was one, or waits for it. */
  discard(): void {
    if (!this.#last || this.#last.answer.isOver) return;
    this.#last.answer.discard();
    this.#connections.abandon?.(this.#last.request);
  }
}
