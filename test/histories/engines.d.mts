/** What happens to an engine while processes renew on it. */
export interface History {
  readonly name: string;
  readonly engine: string;
  readonly fault: string;
  run(): Promise<{ issued: number; lost: readonly Lost[] }>;
}

/** A retailer whose last refresh token is nowhere. */
export interface Lost {
  readonly retailer: string;
  readonly wasKilled: boolean;
}

export const HISTORIES: readonly History[];
export function isPossible(history: History): boolean;
export function unexplained(history: History, lost: readonly Lost[]): readonly Lost[];
