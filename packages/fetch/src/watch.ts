import type { Handler, Told } from "./dispatcher.js";

/**
 * Takes part in what `fetch` is told of one request. Only this file knows that its handler may have one of two shapes:
 * the built-in `fetch` of Node 26 has another than those before it.
 */
export interface Watch {
  /** The request is about to be sent. `abort` ends it, and its connection. */
  begun?(abort: (reason: Error) => void): void;
  /** The head of the answer came. `goOn` lets the connection read on, if it waits for a reader. */
  head?(status: unknown, headers: () => HeadersByName, goOn: () => void): void;
  /** Whether `fetch` is told nothing more: neither a piece of the body nor a failure. */
  isSilent?(): boolean;
  /** Whether the connection reads on, though `fetch` has no room for more. */
  readsOn?(): boolean;
  /** Of a failure: whether the request is sent in another way, so that it is not over, and nobody is told. */
  takesBack?(): boolean;
  /** The request is over, and `fetch` was told so. */
  over?(hasFailed: boolean): void;
}

/** By their names in lower case; several of one name as a list. */
type HeadersByName = ReadonlyMap<string, unknown>;

/** `fetch` makes a handler for each request. That very object is changed, because parts of it hold each other. */
export function watch(handler: Handler, by: Watch): void {
  if (handler.onRequestStart) watchNewer(handler, by);
  else watchOlder(handler, by);
}

/** Tells that the request failed. */
export function fail(handler: Handler, reason: Error): void {
  if (handler.onRequestStart) handler.onResponseError?.(undefined, reason);
  else handler.onError?.(reason);
}

interface Controller {
  abort(reason: Error): void;
  resume(): void;
}

function watchNewer(handler: Handler, by: Watch): void {
  const { onRequestStart, onResponseStart, onResponseData, onResponseEnd, onResponseError } = handler;
  handler.onRequestStart = function (controller, ...more) {
    by.begun?.((reason) => (controller as Controller).abort(reason));
    return onRequestStart?.call(this, controller, ...more);
  };
  handler.onResponseStart = function (controller, status, headers, ...more) {
    const byName = () => new Map(Object.entries(headers as Record<string, unknown>));
    by.head?.(status, byName, () => (controller as Controller).resume());
    return onResponseStart?.call(this, controller, status, headers, ...more);
  };
  handler.onResponseData = function (controller, ...more) {
    if (by.isSilent?.()) return;
    onResponseData?.call(this, controller, ...more);
    if (by.readsOn?.()) (controller as Controller).resume();
  };
  handler.onResponseEnd = ending(onResponseEnd, by);
  handler.onResponseError = failing(onResponseError, by);
}

function watchOlder(handler: Handler, by: Watch): void {
  const { onConnect, onHeaders, onData, onComplete, onError } = handler;
  handler.onConnect = function (abort, ...more) {
    by.begun?.(abort as (reason: Error) => void);
    return onConnect?.call(this, abort, ...more);
  };
  handler.onHeaders = function (status, headers, resume, ...more) {
    by.head?.(status, () => inPairs(headers as readonly unknown[]), resume as () => void);
    return onHeaders?.call(this, status, headers, resume, ...more);
  };
  handler.onData = function (...what) {
    if (by.isSilent?.()) return true;
    const hasRoom = onData?.apply(this, what);
    return by.readsOn?.() ? true : hasRoom;
  };
  handler.onComplete = ending(onComplete, by);
  handler.onError = failing(onError, by);
}

function ending(tell: Told | undefined, by: Watch): Told {
  return function (...what) {
    try {
      return tell?.apply(this, what);
    } finally {
      by.over?.(false);
    }
  };
}

function failing(tell: Told | undefined, by: Watch): Told {
  return function (...what) {
    if (by.takesBack?.()) return;
    try {
      if (!by.isSilent?.()) tell?.apply(this, what);
    } finally {
      by.over?.(true);
    }
  };
}

/** undici gives names and values in turn, as bytes. */
function inPairs(headers: readonly unknown[]): HeadersByName {
  const pairs = new Map<string, unknown>();
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const [name, value] = [String(headers[at]).toLowerCase(), headers[at + 1]];
    pairs.set(name, pairs.has(name) ? `${pairs.get(name)}, ${value}` : value);
  }
  return pairs;
}
