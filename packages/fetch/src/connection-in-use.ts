/** What `fetch` asks a dispatcher for, as far as it is passed on. The shape is that of whichever undici asks. */
export interface Connections {
  dispatch(options: DispatchOptions, handler: Handler): boolean;
  /** undici's own mocks. */
  readonly isMockActive?: boolean;
}

export interface DispatchOptions {
  readonly origin?: string | URL | null;
}

/** The built-in `fetch` of Node 26 has the two new names, those before it the two old ones. */
export interface Handler {
  onRequestStart?: unknown;
  onResponseEnd?: Ending;
  onResponseError?: Ending;
  onComplete?: Ending;
  onError?: Ending;
}

type Ending = (this: Handler, ...told: unknown[]) => unknown;

/**
 * Goes to `fetch` as the `dispatcher` of one call, and tells when the call needs no connection any more: its answer
 * is there, and the last byte of it has come, or it was cancelled or broke. `fetch` itself cancels the body of an
 * answer that is garbage-collected. A redirect is one more request of the same call.
 */
export class UnderWay implements Connections {
  readonly #connections: Connections;
  readonly #over: () => void;
  /** Whoever may still need a connection. At first the caller, until {@link answered}. */
  #users = 1;

  constructor(connections: Connections, over: () => void) {
    this.#connections = connections;
    this.#over = over;
  }

  get isMockActive(): boolean {
    return this.#connections.isMockActive === true;
  }

  dispatch(options: DispatchOptions, handler: Handler): boolean {
    this.#users += 1;
    return this.#connections.dispatch(
      options,
      whenOver(handler, () => this.answered()),
    );
  }

  /** One user less. */
  answered(): void {
    this.#users -= 1;
    if (this.#users === 0) this.#over();
  }
}

/** Calls back once, after the handler was told that its request is over. `fetch` makes a handler for each request. */
export function whenOver(handler: Handler, over: () => void): Handler {
  let isOver = false;
  const told = (ending: Ending | undefined): Ending =>
    function (...args) {
      try {
        return ending?.apply(this, args);
      } finally {
        if (!isOver) {
          isOver = true;
          over();
        }
      }
    };
  if (handler.onRequestStart) {
    handler.onResponseEnd = told(handler.onResponseEnd);
    handler.onResponseError = told(handler.onResponseError);
  } else {
    handler.onComplete = told(handler.onComplete);
    handler.onError = told(handler.onError);
  }
  return handler;
}
