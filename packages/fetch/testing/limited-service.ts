/** A service in memory whose API has a rate limit, for tests in which time is a variable. */
export interface LimitedService {
  /** To stand in the place of the global one. */
  readonly fetch: typeof globalThis.fetch;
  /** The query's `n` of every call, in the order in which they came. */
  readonly came: readonly number[];
  /** How many calls of each window were answered 429. */
  readonly refusedByWindow: readonly number[];
  /** The most calls that were under way at once. */
  readonly most: number;
}

export interface LimitedServiceOptions {
  limit: number;
  windowMs: number;
  /** How long an answer takes. */
  tookMs: number;
  /** What an answer says of the window, which ends then. */
  says: (answer: { status: number; remaining: number; endsAt: number }) => Record<string, string>;
}

export function limitedService({ limit, windowMs, tookMs, says }: LimitedServiceOptions): LimitedService {
  const came: number[] = [];
  const refusedByWindow: number[] = [];
  let used = 0;
  let endsAt = 0;
  let underWay = 0;
  let most = 0;

  return {
    came,
    refusedByWindow,
    get most() {
      return most;
    },
    async fetch(input) {
      came.push(Number(new URL(String(input)).searchParams.get("n")));
      underWay += 1;
      most = Math.max(most, underWay);
      const answer = counted();
      await new Promise((resolve) => setTimeout(resolve, tookMs));
      underWay -= 1;
      return answer;
    },
  };

  function counted(): Response {
    if (Date.now() >= endsAt) {
      endsAt = Date.now() + windowMs;
      used = 0;
      refusedByWindow.push(0);
    }
    used += 1;
    const status = used > limit ? 429 : 200;
    if (status === 429) refusedByWindow[refusedByWindow.length - 1] = used - limit;
    return new Response("", {
      status,
      headers: says({ status, remaining: Math.max(0, limit - used), endsAt }),
    });
  }
}
