import type { Lock, TokenStore } from "@retail-pos/core";
import type { Store } from "express-session";
import { postgres } from "./postgres.js";
import { redis } from "./redis.js";
import type { Settings } from "./settings.js";

/** What all processes share, as one of them has it open. */
export interface Shared {
  tokens: { store: TokenStore; lock: Lock };
  sessions: Store;
  /** From now on it keeps no process: what is under way is saved, and then the process ends by itself. */
  close(): void;
}

export interface Engine {
  /** Once, before there are workers: makes the tables, and rejects where the engine cannot be used. */
  prepare(settings: Settings): Promise<void>;
  /** In each worker. */
  open(settings: Settings): Promise<Shared>;
}

const engines: Record<Settings["engine"], Engine> = { redis, postgres };

export const engineOf = ({ engine }: Settings): Engine => engines[engine];
