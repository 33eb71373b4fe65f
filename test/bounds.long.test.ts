import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";

// What strangers can make as many of as they like: callbacks, logins that are never finished, retailers. After each the
// heap is where it was. Every scenario is a process of its own on the built packages; what it does is in
// support/bounds-scenarios.mjs.

interface Result {
  /** Bytes in use after garbage collection. */
  readonly before: number;
  readonly after: number;
  /** How often what came of it. */
  readonly counts: Readonly<Record<string, number>>;
  readonly tookMs: number;
}

const MB = 1024 * 1024;

describe.concurrent("the heap is where it was after", { timeout: 600_000 }, () => {
  test("250,000 hostile callbacks, and the two logins under way in their session can still be finished", async () => {
    const times = 250_000;
    const { before, after, sent, isUntouched, counts } = await run<{ sent: number; isUntouched: boolean }>(
      "callbacks",
      times,
    );
    expect(counts).toEqual({
      state_unknown: times * 0.3,
      state_missing: times * 0.1,
      invalid_domain_prefix: times * 0.2,
      invalid_callback: times * 0.3,
      access_denied: times * 0.1,
      "token request": 2,
      "real one: success": 2,
    });
    expect({ sent, isUntouched }).toEqual({ sent: 0, isUntouched: true });
    // One number kept of each callback would be 2 MB, one short text 8 MB; compiled code and caches are below 0.5 MB.
    expect(after - before).toBeLessThan(1.5 * MB);
  });

  test("ten thousand logins started in one session, of which the last twenty are in it", async () => {
    const { before, after, largest, counts } = await run<{ largest: number }>("pending", 10_000);
    expect(counts).toEqual({ redirect: 10_000 });
    expect(largest).toBeLessThan(20 * 120); // characters: a handle of 43, an instant, and their names
    expect(after - before).toBeLessThan(MB); // ten thousand handles
  });

  test("sixty thousand retailers that log in, renew and fail, by calls and by requests, a minute later", async () => {
    const { before, held, counts } = await run<{ held: number[] }>("retailers", 33_334);
    const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
    expect(total).toBeGreaterThan(2 * 60_000);
    expect(Object.keys(counts).length).toBeGreaterThan(2 * 5); // kinds of ends, by calls and by requests
    // By its constants a process remembers 10,000 retailers that nobody asks for and 20,000 failures, of some 1.5 KB
    // each with what they hold: the first 33,334 retailers have filled that. Those who come later change nothing.
    for (const heap of held) expect(heap - before).toBeLessThan(45 * MB);
    expect(Math.max(...held) - (held[0] ?? 0)).toBeLessThan(4 * MB);
  });

  test("ten thousand callers at once of one retailer, served or let down: nothing stays in flight", async () => {
    const { before, after, counts } = await run("flights", 10_000);
    const [served, failed] = ["fulfilled", "rejected"].map((end) =>
      Object.entries(counts).reduce((sum, [name, count]) => sum + (name.endsWith(end) ? count : 0), 0),
    );
    expect({ served, failed }).toEqual({ served: 2 * 10_100, failed: 6 * 10_100 });
    expect(after - before).toBeLessThan(2 * MB); // 80,000 callers
  });
});

async function run<More extends object>(scenario: string, times: number): Promise<Result & More> {
  const program = fileURLToPath(new URL("support/bounds-scenarios.mjs", import.meta.url));
  const args = ["--expose-gc", program, scenario, String(times)];
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 10 * MB });
  const result = JSON.parse(stdout);
  const [before, after] = [result.before, result.after].map((bytes) => (bytes / MB).toFixed(1));
  console.log(
    `${scenario}, ${times} times: heap ${before} MB, then ${after} MB; ${(result.tookMs / 1000).toFixed(1)} s`,
  );
  return result;
}
