import { ownTurn } from "./drain.js";
import type { Found, Runs } from "./runs.js";
import type { Scenario } from "./scenario.js";
import { type Budget, chanceOf, type Searched, searchAll, walk } from "./search.js";
import { madeUp, SCENARIOS, within } from "./stories.js";

/** What was explored, and the first broken promise, if any. */
export interface Explored {
  readonly schedules: number;
  readonly states: number;
  readonly found: Found | undefined;
}

export interface Exploration {
  readonly schedules: number;
  /** By `performance.now()`, milliseconds. */
  readonly until: number;
  /** Default: all of them, and stories that are made up. */
  readonly scenarios?: readonly Scenario[];
  /** Of all schedules, the part that is searched through; the others are walks by chance. Default 0.6. */
  readonly searched?: number;
  /** Of the walks; default 1. */
  readonly seed?: number;
  /** Told what each scenario came to. */
  readonly told?: (scenario: Scenario, searched: Searched, bounds: Scenario["bounds"]) => void;
}

/** Each is searched through completely before the next. */
const BOUNDS: readonly Scenario["bounds"][] = [
  { preemptions: 1, faults: 1 },
  { preemptions: 3, faults: 0 },
  { preemptions: 2, faults: 1 },
  { preemptions: 2, faults: 2 },
  { preemptions: 3, faults: 2 },
  { preemptions: 4, faults: 3 },
];
/** So many in a turn of their own, so that others get theirs. */
const AT_ONCE = 200;
const WALKS_OF_EACH = 20;

/** Searches through every scenario as far as its share of the budget goes, then walks through made-up ones. */
export async function explore(runs: Runs, how: Exploration): Promise<Explored> {
  const { until, scenarios = SCENARIOS, seed = 1, searched: part = 0.6 } = how;
  const total = { schedules: 0, states: 0, found: undefined as Found | undefined };
  const startedAt = performance.now();
  const searchUntil = startedAt + (until - startedAt) * part;
  for (const [nth, scenario] of part > 0 ? scenarios.entries() : []) {
    const left = scenarios.length - nth;
    const now = performance.now();
    const share = {
      until: now + (searchUntil - now) / left,
      schedules: Math.floor((how.schedules * part) / scenarios.length),
    };
    add(await searchThrough(runs, scenario, share, how.told));
    if (total.found) return total;
  }
  const chance = chanceOf(seed);
  for (let nth = 0; total.schedules < how.schedules && performance.now() < until; nth += 1) {
    const scenario = how.scenarios?.[nth % how.scenarios.length] ?? madeUp(Math.floor(chance() * 1e9));
    const walkSeed = Math.floor(chance() * 1e9);
    const schedules = Math.min(WALKS_OF_EACH, how.schedules - total.schedules);
    add(await ownTurn(() => walk(runs, unbounded(scenario), walkSeed, { schedules, until })));
    if (total.found) return total;
  }
  return total;

  function add({ schedules, states, found }: Explored): void {
    total.schedules += schedules;
    total.states += states;
    total.found ??= found;
  }
}

async function searchThrough(
  runs: Runs,
  scenario: Scenario,
  share: Budget,
  told: Exploration["told"],
): Promise<Explored> {
  let [schedules, states] = [0, 0];
  for (const bounds of BOUNDS) {
    const budget = { until: share.until, schedules: share.schedules - schedules };
    const searched = await inPieces(searchAll(runs, within(scenario, bounds), budget));
    schedules += searched.schedules;
    states += searched.states;
    told?.(scenario, searched, bounds);
    if (searched.found || !searched.isComplete) return { schedules, states, found: searched.found };
  }
  return { schedules, states, found: undefined };
}

async function inPieces(search: Generator<void, Searched>): Promise<Searched> {
  for (;;) {
    const step = await ownTurn(() => {
      for (let count = 1; count < AT_ONCE; count += 1) {
        const next = search.next();
        if (next.done) return next;
      }
      return search.next();
    });
    if (step.done) return step.value;
  }
}

function unbounded(scenario: Scenario): Scenario {
  const { preemptions, faults } = scenario.bounds;
  return Number.isFinite(preemptions)
    ? within(scenario, { preemptions: Number.POSITIVE_INFINITY, faults })
    : scenario;
}
