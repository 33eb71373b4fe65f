import type { TokenEndpoint } from "../endpoint/token-endpoint.js";
import type { CheckedStore } from "../store/checked-store.js";
import type { Tell } from "../vocabulary/events.js";
import type { Lock } from "../vocabulary/lock.js";
import type { Versions } from "../vocabulary/token-set-versions.js";
import type { BackOff } from "./renewal-back-off.js";

// "Behaviour 7", "R4" and "section 8" in comments are headings of docs/service.md.

/** What all retailers of one client share: its settings, and the parts that it works with. */
export interface Deps {
  /** Part of each lock's key: two applications may renew one retailer's tokens side by side. */
  readonly clientId: string;
  readonly renewEarlyMs: number;
  readonly cacheMs: number;
  readonly timeoutMs: number;
  readonly clock: () => number;
  readonly endpoint: TokenEndpoint;
  readonly store: CheckedStore;
  readonly lock: Lock;
  readonly versions: Versions;
  readonly backOff: BackOff;
  readonly tell: Tell;
  /** Told of work that may outlast the caller who began it. */
  readonly background: (work: Promise<unknown>) => void;
}
