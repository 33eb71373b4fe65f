import type { TokenSet } from "@retail-pos/core";

/** A question to the store that is under way. */
export interface Load {
  readonly retailer: string;
  readonly number: number;
  /** How often this process's knowledge had changed when it was asked. */
  readonly changes: number;
}

/** A token request that was sent. */
export interface Request {
  readonly refreshToken: string;
  /** The access token that it replaces. */
  readonly instead: string | undefined;
  readonly sentIn: number;
  /** How much had happened that may make two processes renew at once, when its sender was given the lock. */
  disruptions: number;
  /** Until when the service said that no other may come; 0 if it did not. */
  limitedUntil: number;
  state: "under way" | "answered" | "failed";
}

/** What one process can know of one retailer, as seen from outside: the last that reached it. */
export class Knowledge {
  loads = 0;
  /** Questions to the store without an answer. */
  asking = 0;
  /** The first load since a call began, and what it found: by its number. */
  readonly found = new Map<number, { set: TokenSet | undefined; isLive: boolean; changes: number }>();
  /** What the last answer of the store said. */
  set: TokenSet | undefined = undefined;
  /** How often an answer said something else than the one before. */
  changes = 0;
  /** What its loads found where they took effect, since it was last given the lock. */
  reached: TokenSet[] = [];
  /** How much had happened that may make two processes renew at once, when it was last given the lock. */
  lockedAfter = 0;
  /** Refresh tokens that were replaced by an answer that came here. */
  readonly replaced = new Set<string>();
  /** Access tokens that were issued to this process, by the moment at which it asked for them. */
  readonly issued = new Map<string, number>();
  /** The last access token that somebody here was given. */
  given: string | undefined = undefined;
  readonly rejected = new Set<string>();
  /** When the store last failed it. */
  failedAt: number | undefined = undefined;
  /** When a token request of its own last failed, and until when it was told to wait. */
  endpointFailedAt: number | undefined = undefined;
  limitedUntil: number | undefined = undefined;

  /** Two answers that overlapped and differ: nobody can tell which of them is the later. */
  isInDoubt = false;

  /** @param changes as they were when it was asked. */
  learned(set: TokenSet | undefined, changes: number): void {
    const isOther = set?.version !== this.set?.version;
    this.isInDoubt = isOther && changes !== this.changes;
    if (isOther) this.changes += 1;
    this.set = set;
  }
}
