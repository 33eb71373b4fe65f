import { isRetailPosError } from "@retail-pos/core";
import { ApiError, type Product } from "./store-api.js";

/** What came of one store's turn. `why` is for the log, and holds no secret. */
export type Outcome =
  | { readonly kind: "pulled"; readonly products: readonly Product[]; readonly name: string | undefined }
  | { readonly kind: "login needed"; readonly why: string }
  | { readonly kind: "unreadable"; readonly why: string }
  | { readonly kind: "limited"; readonly why: string; readonly retryAt: number }
  | { readonly kind: "failed"; readonly why: string };

/** Whether every store would fail of it: our store of tokens is away, or the service refuses the client secret. */
export function isFatal(error: unknown): boolean {
  return isRetailPosError(error) && (error.code === "store_failed" || error.code === "client_refused");
}

/** What to do about an error of one store. */
export function outcomeOf(error: unknown): Outcome {
  const why = error instanceof Error ? error.message : String(error);
  if (error instanceof ApiError && error.retryAt !== undefined)
    return { kind: "limited", why, retryAt: error.retryAt };
  if (!isRetailPosError(error)) return { kind: "failed", why }; // the network, or what the API says
  switch (error.code) {
    case "not_connected":
    case "reconnect_required":
      return { kind: "login needed", why };
    case "bad_stored_tokens": // the next login replaces them, but they may be good, and the key wrong
      return { kind: "unreadable", why };
    case "rate_limited":
      return { kind: "limited", why, retryAt: error.retryAt };
    default:
      return { kind: "failed", why };
  }
}
