import type { Handler, Told } from "./dispatcher.js";

/** Calls back once, after the handler was told that its request is over. `fetch` makes a handler for each request. */
export function whenOver(handler: Handler, over: (hasFailed: boolean) => void): Handler {
  const onceOver = once(over);
  const then = (ending: Told | undefined, hasFailed: boolean): Told =>
    function (...what) {
      try {
        return ending?.apply(this, what);
      } finally {
        onceOver(hasFailed);
      }
    };
  if (handler.onRequestStart) {
    handler.onResponseEnd = then(handler.onResponseEnd, false);
    handler.onResponseError = then(handler.onResponseError, true);
  } else {
    handler.onComplete = then(handler.onComplete, false);
    handler.onError = then(handler.onError, true);
  }
  return handler;
}

/** Only the first call counts. */
export function once<What extends unknown[]>(work: (...what: What) => void): (...what: What) => void {
  let isDone = false;
  return (...what) => {
    if (isDone) return;
    isDone = true;
    work(...what);
  };
}
