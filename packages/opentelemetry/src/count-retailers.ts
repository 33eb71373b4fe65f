import type { BatchObservableCallback, Meter, MeterProvider } from "@opentelemetry/api";
import type { RetailerStatus, RetailPos } from "@retail-pos/core";
import { refuseMisspelt } from "@retail-pos/core/authoring";
import { GAUGES, type GaugeName } from "./metric-definitions.js";
import { checkProvider, withMeter } from "./providers.js";

/** What is counted, how often, and where the gauges go. */
export interface CountRetailersOptions {
  /** What `retailPos()` returned; its store has to `list`. */
  client: RetailPos;
  /** From the start of one count to the start of the next, milliseconds; default 300,000. */
  everyMs?: number | undefined;
  /** Makes the meter; default: the one that is registered globally. */
  meterProvider?: MeterProvider | undefined;
  /** As it was given to `retailPos()`, milliseconds; default 300,000. What is `due` depends on it. */
  renewEarlyMs?: number | undefined;
  /** Epoch milliseconds, as it was given to `retailPos()`; default `Date.now`. */
  clock?: (() => number) | undefined;
}

const NAMES = [
  "client",
  "everyMs",
  "meterProvider",
  "renewEarlyMs",
  "clock",
] satisfies (keyof CountRetailersOptions)[];

/** Longer, and a timer would not keep its time. */
const LONGEST_MS = 2 ** 31 - 1;

/**
 * Gauges of the fleet, counted from the store: how many retailers are connected, refused, due and ended. For one
 * process of the fleet, since every process would count the same. The first count begins at once; while one is under
 * way, none is begun. A count that fails changes nothing: the four gauges are what the last full count said, and
 * `retail_pos.retailers.count_age` grows. Before the first full count there are none. The timer keeps no process alive.
 *
 * @returns `stop()`: no further count begins, what is under way ends without a result, nothing is observed any more.
 * @throws {TypeError} naming the option that is wrong; or the store has no `list`.
 */
export function countRetailers(options: CountRetailersOptions): () => void {
  const { client, everyMs, meterProvider, renewEarlyMs, clock } = checked(options);
  const stopped = new AbortController();
  const { signal } = stopped;
  const last: LastCount = { at: clock(), counts: undefined };
  client.retailers({ signal }); // a store that cannot list is a mistake to be told now
  let stopObserving = () => {};
  const observing = withMeter(meterProvider, (meter) => {
    stopObserving();
    stopObserving = observe(meter, last, clock);
  });
  let isCounting = false;

  async function count(): Promise<void> {
    if (isCounting) return;
    isCounting = true;
    try {
      observing(); // an SDK may have been started meanwhile
    } catch {
      // Its meter takes no gauges of ours. It is asked again with the next count.
    }
    try {
      const counts = await countsOf(client.retailers({ signal }), clock(), renewEarlyMs);
      if (signal.aborted) return;
      last.counts = counts;
      last.at = clock();
    } catch {
      // Core has told its observer why.
    } finally {
      isCounting = false;
    }
  }

  void count();
  const timer = setInterval(count, everyMs);
  timer.unref?.();
  return () => {
    clearInterval(timer);
    stopped.abort();
    stopObserving();
  };
}

type Counts = Record<Exclude<GaugeName, "countAge">, number>;

interface LastCount {
  /** When it ended; before the first, when counting began. Epoch milliseconds. */
  at: number;
  counts: Counts | undefined;
}

/** @returns ends it. */
function observe(meter: Meter, last: LastCount, clock: () => number): () => void {
  const gauges = Object.entries(GAUGES).map(
    ([of, { name, unit, description }]) =>
      [of as GaugeName, meter.createObservableGauge(name, { unit, description })] as const,
  );
  const callback: BatchObservableCallback = (result) => {
    const values = { ...last.counts, countAge: Math.max(0, (clock() - last.at) / 1000) };
    for (const [of, gauge] of gauges) if (values[of] !== undefined) result.observe(gauge, values[of]);
  };
  const all = gauges.map(([, gauge]) => gauge);
  meter.addBatchObservableCallback(callback, all);
  return () => meter.removeBatchObservableCallback(callback, all);
}

async function countsOf(
  retailers: AsyncIterable<RetailerStatus>,
  now: number,
  renewEarlyMs: number,
): Promise<Counts> {
  const counts: Counts = { connected: 0, refused: 0, due: 0, ended: 0 };
  for await (const retailer of retailers) {
    if (retailer.refusedAt !== undefined) {
      counts.refused += 1;
      continue;
    }
    counts.connected += 1;
    const { issuedAt, expiresAt = Number.POSITIVE_INFINITY } = retailer;
    // Behaviour 5: never in the first nine tenths of a token's life.
    const marginMs = Math.min(renewEarlyMs, Math.max(0, expiresAt - issuedAt) / 10);
    if (now >= expiresAt - marginMs) counts.due += 1;
    if (now >= expiresAt) counts.ended += 1;
  }
  return counts;
}

function checked(options: CountRetailersOptions) {
  refuseMisspelt(options, NAMES, { meter: "meterProvider", interval: "everyMs", intervalms: "everyMs" });
  const { client, everyMs = 300_000, meterProvider, renewEarlyMs = 300_000, clock = Date.now } = options;
  if (typeof client?.retailers !== "function") throw new TypeError("client must be what retailPos() returns");
  if (!(typeof everyMs === "number" && everyMs > 0 && everyMs <= LONGEST_MS))
    throw new TypeError(`everyMs must be a number of milliseconds, more than 0, at most ${LONGEST_MS}`);
  if (!(typeof renewEarlyMs === "number" && renewEarlyMs >= 0))
    throw new TypeError("renewEarlyMs must be a number of milliseconds, 0 or more");
  if (typeof clock !== "function") throw new TypeError("clock must be a function");
  checkProvider("meterProvider", meterProvider);
  return { client, everyMs, meterProvider, renewEarlyMs, clock };
}
