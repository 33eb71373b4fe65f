import type { Handler, Told } from "./dispatcher.js";

/**
 * For a request that fails before anything of it was sent.
 *
 * @param takeBack says whether it will be sent in another way. The handler is not told of the failure then.
 */
export function whenUnsent(handler: Handler, takeBack: () => boolean): void {
  let isBegun = false;
  const beginning = (begin: Told | undefined): Told =>
    function (...what) {
      isBegun = true;
      return begin?.apply(this, what);
    };
  const failing = (fail: Told | undefined): Told =>
    function (...what) {
      return !isBegun && takeBack() ? undefined : fail?.apply(this, what);
    };
  if (handler.onRequestStart) {
    handler.onRequestStart = beginning(handler.onRequestStart);
    handler.onResponseError = failing(handler.onResponseError);
  } else {
    handler.onConnect = beginning(handler.onConnect);
    handler.onError = failing(handler.onError);
  }
}
