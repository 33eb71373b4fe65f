/** What `fetch` asks a dispatcher for, as far as it is passed on. The shape is that of whichever undici asks. */
export interface Connections {
  dispatch(options: DispatchOptions, handler: Handler): boolean;
  /** Tells that nobody waits for a request any more, whether it was sent or not. Ours only. */
  abandon?(options: DispatchOptions): void;
  /** undici's own mocks. */
  readonly isMockActive?: boolean;
}

export interface DispatchOptions {
  readonly origin?: string | URL | null;
}

/** What `fetch` is told of one request. {@link watch} knows which names come together. */
export interface Handler {
  onRequestStart?: Told;
  onResponseStart?: Told;
  onResponseData?: Told;
  onResponseEnd?: Told;
  onResponseError?: Told;
  onConnect?: Told;
  onHeaders?: Told;
  onData?: Told;
  onComplete?: Told;
  onError?: Told;
}

export type Told = (this: Handler, ...what: unknown[]) => unknown;
