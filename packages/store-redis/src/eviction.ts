import process from "node:process";

/** Runs a Lua script on one key. */
export type Evaluate = (script: string, key: string, values: string[]) => Promise<unknown>;

/**
 * The same. Once, after the server's first answer, it also reads the server's maxmemory-policy, and warns by
 * `process.emitWarning` if that one removes what is stored: a store has no `observe`. It reads `INFO`, because scripts
 * cannot ask `CONFIG` and many hosts forbid it. If the client's user may not read `INFO` either, there is no warning.
 */
export function warningOfEviction(evaluate: Evaluate): Evaluate {
  let hasLooked = false; // no promise is kept: it may be one of a request that the runtime ended
  return async (script, key, values) => {
    const answer = await evaluate(script, key, values);
    if (!hasLooked) {
      hasLooked = true;
      await look(key);
    }
    return answer;
  };

  async function look(key: string): Promise<void> {
    try {
      const [policy, kind] = /^(allkeys|volatile)-\w+$/.exec(String(await evaluate(POLICY, key, []))) ?? [];
      if (policy)
        process.emitWarning(warningOf(policy, kind === "allkeys"), { code: "RETAIL_POS_REDIS_EVICTS" });
    } catch {
      // It may not be read, or the connection broke: then the next operation fails too.
    }
  }
}

function warningOf(policy: string, takesTokens: boolean): string {
  const taken = takesTokens ? "stored tokens, locks and claims" : "locks and claims";
  return `Redis has the maxmemory-policy ${policy}: when its memory is full it removes ${taken}. Set it to noeviction`;
}

const POLICY = `return string.match(redis.call('INFO', 'memory'), 'maxmemory_policy:(%S+)') or ''`;
