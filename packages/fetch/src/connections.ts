import { AsyncLocalStorage } from "node:async_hooks";
import { Agent, buildConnector, type Dispatcher } from "undici";
import { RetailFetchError } from "./errors.js";
import { oneAtATime } from "./lookup.js";

/** One answer may be so many bytes ahead of its reader: 16 MiB. */
const MOST_AHEAD = 16 * 1024 * 1024;

/** As it was when this module was loaded: replaced timers (vitest, `node:test`) do not hold up a call. */
const nextTurn = setImmediate;

/** For all hosts: each keeps TLS sessions, a hundred at most. */
const connectNow = buildConnector({});
const connectForExchange = buildConnector({ lookup: oneAtATime });

/** Whether what is sent is an exchange (4.2). */
const isOfExchange = new AsyncLocalStorage<boolean>();

/** What happens on a connection later, such as the next one of its host, is no part of the exchange that opened it. */
const connect: buildConnector.connector = (options, done) =>
  isOfExchange.getStore()
    ? isOfExchange.run(false, () => connectForExchange(options, done))
    : connectNow(options, done);

/**
 * Connections to all hosts. How many there are is decided by who may call: undici is not told, because undici 7 may
 * forget the requests that wait in its own queue (for a host whose certificate is another's; fixed in undici 8).
 */
export function connections(keepAliveMs: number): Agent {
  const kept = { keepAliveTimeout: keepAliveMs, keepAliveMaxTimeout: keepAliveMs };
  return new Agent({ ...(keepAliveMs > 0 ? kept : { pipelining: 0 }), connect });
}

/** Goes to `fetch` as the `dispatcher` of one call. A redirect is one more request of the same call. */
export class Requests {
  readonly #agent: Agent;
  readonly #isExchange: boolean;
  #answer: Answer | undefined;
  /** Resolves once the last byte of the last request's answer has come, or that request has failed. */
  over: Promise<void> = Promise.resolve();

  constructor(agent: Agent, isExchange: boolean) {
    this.#agent = agent;
    this.#isExchange = isExchange;
  }

  dispatch(request: Dispatcher.DispatchOptions, handler: Handler): boolean {
    const redirect = this.#answer;
    this.over = new Promise((isOver) => {
      const answer = new Answer(inNewShape(handler), new URL(String(request.origin)).host, isOver);
      this.#answer = answer;
      // undici frees a connection one turn after its answer: a call that came before that would open another.
      nextTurn(() => {
        redirect?.drop();
        if (answer.isDropped) return isOver();
        isOfExchange.run(this.#isExchange, () => this.#agent.dispatch(request, answer));
      });
    });
    return true;
  }

  /**
   * Ends the request of a call that has failed. `fetch` leaves the answer of a redirect that it does not follow, and
   * hears the caller's signal no more: a host that does not end it would hold the connection.
   */
  drop(): void {
    this.#answer?.drop();
  }
}

type Handler = Dispatcher.DispatchHandler;
type Controller = Dispatcher.DispatchController;

/**
 * One answer on its way to `fetch`. undici reads it as it comes, and is never told to pause: if undici 7 waits for a
 * reader and the host closes the connection meanwhile, it ends the process (its issue 5360, fixed in undici 8). What
 * `fetch` does not want yet waits here.
 */
class Answer implements Handler {
  #fetch: Handler;
  readonly #host: string;
  readonly #isOver: () => void;
  #abort: Controller["abort"] = () => {};
  #ahead: Buffer[] = [];
  #aheadBytes = 0;
  #pieces = 0;
  #isWanted = true;
  #hasEnd = false;
  isDropped = false;

  constructor(fetch: Handler, host: string, isOver: () => void) {
    this.#fetch = fetch;
    this.#host = host;
    this.#isOver = isOver;
  }

  /** Ends the connection, unless the last byte has come. `fetch` is told nothing more. */
  drop(): void {
    this.isDropped = true;
    this.#fetch = {};
    this.#abort(new Error("This answer is not read"));
  }

  onRequestStart(controller: Controller, context: unknown): void {
    this.#abort = (reason) => controller.abort(reason);
    controller.pause = () => this.#passOn(controller, false);
    controller.resume = () => this.#passOn(controller, true);
    this.#fetch.onRequestStart?.(controller, context);
    if (this.isDropped) this.drop(); // its call failed while it waited for a connection
  }

  onResponseStart(...head: Parameters<NonNullable<Handler["onResponseStart"]>>): void {
    this.#fetch.onResponseStart?.(...head);
  }

  onResponseData(controller: Controller, piece: Buffer): void {
    this.#aheadBytes += piece.length;
    // A small piece would keep all that the socket read with it, also after `fetch` has got it.
    this.#ahead.push(piece.buffer.byteLength > 2 * piece.length ? Buffer.from(piece) : piece);
    this.#pieces += 1;
    // A host may send one byte at a time, and each piece takes a hundred bytes of its own.
    if (this.#pieces % 256 === 0) this.#ahead.push(Buffer.concat(this.#ahead.splice(-256)));
    this.#passOn(controller);
    if (this.#aheadBytes > MOST_AHEAD) this.#abort(new RetailFetchError("answer_too_large", this.#host));
  }

  onResponseEnd(controller: Controller): void {
    this.#hasEnd = true;
    this.#isOver();
    this.#passOn(controller);
  }

  onResponseError(controller: Controller, error: Error): void {
    this.#ahead = [];
    this.#isOver();
    this.#fetch.onResponseError?.(controller, error);
  }

  #passOn(controller: Controller, isWanted = this.#isWanted): void {
    this.#isWanted = isWanted;
    while (this.#isWanted && this.#ahead.length > 0) {
      const piece = this.#ahead.shift() as Buffer;
      this.#aheadBytes -= piece.length;
      this.#fetch.onResponseData?.(controller, piece);
    }
    if (this.#hasEnd && this.#ahead.length === 0) this.#fetch.onResponseEnd?.(controller, {});
  }
}

/** What `fetch` wants to be told of a request. That of Node 20 to 24 says so in undici's older shape. */
function inNewShape(handler: Handler): Handler {
  if (handler.onRequestStart) return handler;
  return {
    onRequestStart: (to) => handler.onConnect?.((reason) => to.abort(reason as Error)),
    onResponseStart: (to, status, _, text) =>
      void handler.onHeaders?.(status, to.rawHeaders as Buffer[], () => to.resume(), text ?? ""),
    onResponseData: (to, piece) => void (handler.onData?.(piece) === false && to.pause()),
    onResponseEnd: () => handler.onComplete?.([]),
    onResponseError: (_, error) => handler.onError?.(error),
  };
}
