import type { Action } from "./actions.js";
import type { Scenario, WorldFault } from "./scenario.js";
import { chanceOf } from "./search.js";
import { DAY_MS } from "./service.js";
import type { Fault } from "./step.js";

type Story = Pick<Scenario, "actors" | "age"> & Partial<Scenario>;

const MINUTE_MS = 60_000;
const FRESH = { beforeMs: MINUTE_MS, afterMs: 5_000 };
const EARLY = { beforeMs: MINUTE_MS, afterMs: DAY_MS - 3 * MINUTE_MS };
const NOT_YET_DUE = { beforeMs: MINUTE_MS, afterMs: DAY_MS - 61 * MINUTE_MS };
const AT_ITS_END = { beforeMs: MINUTE_MS, afterMs: DAY_MS - MINUTE_MS };
const ENDED = { beforeMs: MINUTE_MS, afterMs: DAY_MS };
/** A copy from the beginning is older than `cacheMs`. */
const NOT_FRESH = { beforeMs: MINUTE_MS, afterMs: MINUTE_MS };
const SHORT_MS = 50_000;
const SHORT_ENDED = { beforeMs: 1_000, afterMs: SHORT_MS };

const ask = (place: number, retailer = "shop"): Action => ({ kind: "ask", place, retailer });
const reject = (place: number, retailer = "shop"): Action => ({ kind: "reject", place, retailer });
const leave = (place: number, retailer = "shop"): Action => ({ kind: "leave", place, retailer });
const login = (place: number, retailer = "shop"): Action => ({ kind: "login", place, retailer });
const disconnect = (place: number, retailer = "shop"): Action => ({ kind: "disconnect", place, retailer });
const renewDue = (place: number): Action => ({ kind: "renewDue", place });
const revoke: Action = { kind: "revoke", retailer: "shop" };
/** The next token request is answered after twelve seconds, and callers wait for ten. */
const late: Action = { kind: "late" };
const pass = (ms: number): Action => ({ kind: "pass", ms });

const STORE: (Fault | WorldFault)[] = [
  "fails",
  "fails after its effect",
  "is never answered",
  "is delayed",
  "is slow",
];
/** What can happen to a retailer's tokens, a few things at a time. */
const STORIES: Readonly<Record<string, Story>> = {
  "expiry in two processes": { age: ENDED, actors: [[ask(0), ask(0)], [ask(0)], [ask(1), ask(1)]] },
  "due early": { age: EARLY, actors: [[ask(0), ask(0)], [ask(1)], [pass(4 * MINUTE_MS)]] },
  "a login elsewhere": { age: ENDED, actors: [[ask(0), ask(0)], [login(1)], [ask(0)]] },
  "a login here": { age: ENDED, actors: [[ask(0), ask(0)], [login(0)], [ask(1)]] },
  "two logins": {
    age: ENDED,
    actors: [
      [login(0), ask(0)],
      [login(1), ask(1)],
    ],
  },
  "a login that ends": { age: ENDED, actors: [[ask(0)], [login(1)], [pass(DAY_MS)], [ask(0)]] },
  "a disconnect elsewhere": { age: ENDED, actors: [[ask(0), ask(0)], [disconnect(1)], [ask(0)]] },
  "a disconnect here": { age: ENDED, actors: [[ask(0), ask(0)], [disconnect(0)], [ask(1)]] },
  "disconnected, then logged in": {
    age: ENDED,
    actors: [[ask(0), ask(0)], [disconnect(1), login(1)], [ask(1)]],
  },
  "answered 401": { age: FRESH, actors: [[reject(0), ask(0)], [reject(1), ask(1)], [ask(0)]] },
  "answered 401 twice": { age: FRESH, actors: [[reject(0), reject(0)], [ask(0)], [login(1)]] },
  "a copy that is old": { age: FRESH, actors: [[ask(0), ask(0)], [login(1)], [pass(4_000), pass(6_000)]] },
  refused: { age: ENDED, actors: [[revoke, ask(0)], [ask(1), ask(1)], [ask(0)]] },
  "refused, then logged in": { age: ENDED, actors: [[revoke, ask(0), ask(0)], [login(1), ask(1)], [ask(0)]] },
  "a caller leaves": {
    age: ENDED,
    actors: [
      [leave(0), ask(0)],
      [ask(1), leave(1)],
    ],
  },
  "the fleet's job": { age: ENDED, actors: [[renewDue(0), ask(0)], [ask(1)], [renewDue(1)]] },
  "the fleet's job comes first": {
    age: ENDED,
    isWarm: false,
    actors: [[renewDue(0)], [ask(0), ask(0)], [ask(1)]],
  },
  "nothing rotates": { age: ENDED, rotates: false, actors: [[ask(0), ask(0)], [ask(1)], [login(1)]] },
  "three processes": { age: ENDED, processes: 3, actors: [[ask(0)], [ask(1)], [ask(2), ask(2)]] },
  "three processes and a login": {
    age: ENDED,
    processes: 3,
    actors: [[ask(0)], [ask(1), ask(1)], [login(2)]],
  },
  "two retailers": {
    age: ENDED,
    retailers: ["shop", "cafe"],
    actors: [[ask(0), ask(0, "cafe")], [ask(1, "cafe")], [login(1), disconnect(1, "cafe")]],
  },
  "not yet due": {
    age: NOT_YET_DUE,
    actors: [
      [ask(0), reject(0)],
      [ask(1), ask(1)],
    ],
  },
  "at its very end": { age: AT_ITS_END, actors: [[ask(0), ask(0)], [ask(1)]] },
  "a slow store": {
    age: ENDED,
    actors: [[ask(0)], [ask(0), ask(0)], [pass(4_000), pass(1_500)], [login(1)]],
  },
  "a copy that was slow to come": {
    age: NOT_FRESH,
    actors: [[ask(0)], [login(1), pass(4_000), pass(7_000), ask(0)]],
  },
  "a login and a disconnect at once": { age: ENDED, actors: [[login(0)], [disconnect(0)], [ask(0), ask(0)]] },
  "a refusal, and a login here": {
    age: ENDED,
    actors: [
      [revoke, ask(0)],
      [login(0), pass(4_000), ask(0)],
    ],
  },
  "refused early": {
    age: EARLY,
    refusesEarly: true,
    faults: new Set([...STORE, "500", "kill", "cut off", "lease"]),
    actors: [
      [ask(0), pass(MINUTE_MS), ask(0), pass(3 * MINUTE_MS), ask(0)],
      [ask(1), renewDue(1), ask(1)],
    ],
  },
  "refused early, and logged in": {
    age: EARLY,
    refusesEarly: true,
    faults: new Set(STORE),
    actors: [[ask(0), pass(4 * MINUTE_MS), ask(0)], [ask(1), login(1)], [ask(0)]],
  },
  "a day passes in a renewal": { age: EARLY, actors: [[ask(0)], [pass(2 * DAY_MS)], [ask(0)]] },
  "an older look, and a live token": { age: NOT_FRESH, actors: [[ask(0)], [login(1), ask(0)], [ask(0)]] },
  "an older look": {
    age: ENDED,
    actors: [[disconnect(1), ask(0)], [login(1), ask(0)], [login(0)], [pass(4_000)]],
  },
  "a disconnect that fails": { age: FRESH, actors: [[disconnect(0), ask(0), ask(0)], [ask(1)]] },
  "a disconnect before anybody looked": {
    age: FRESH,
    isWarm: false,
    actors: [
      [ask(0), ask(0)],
      [disconnect(0), ask(0)],
    ],
  },
  "a store that fails": { age: ENDED, actors: [[ask(0), reject(0), ask(0)], [ask(1)]] },
  "tokens that live for a minute": {
    age: SHORT_ENDED,
    lifetimeMs: SHORT_MS,
    actors: [[ask(0), pass(46_000), ask(0)], [ask(1)]],
  },
  "a late answer": { age: ENDED, actors: [[late, ask(0), pass(2_500), ask(0)], [ask(0)]] },
  "a late answer, and another process": {
    age: ENDED,
    actors: [
      [late, ask(0), pass(1_500), ask(0), pass(1_000)],
      [ask(1), ask(1)],
    ],
  },
  "a late answer, and a login": {
    age: ENDED,
    actors: [[late, ask(0), pass(2_500)], [login(1), ask(1)], [ask(0)]],
  },
  "a late answer, and a disconnect": {
    age: ENDED,
    actors: [[late, ask(0), pass(2_500)], [disconnect(0), login(1)], [ask(0)]],
  },
  "a late answer, and nothing rotates": {
    age: ENDED,
    rotates: false,
    actors: [
      [late, ask(0)],
      [ask(1), revoke, reject(1)],
    ],
  },
  "a second day": {
    age: ENDED,
    actors: [
      [ask(0), pass(DAY_MS + MINUTE_MS), ask(0)],
      [ask(1), ask(1)],
    ],
  },
};

const ALL: (Fault | WorldFault)[] = [
  ...STORE,
  "429",
  "500",
  "nothing remains",
  "is late",
  "kill",
  "cut off",
  "clock",
  "pause",
  "lease",
];

/** The ways in which each story is played. */
const SETTINGS: Readonly<Record<string, Partial<Scenario>>> = {
  "plain lock, no cache": { lock: "plain", cacheMs: 0 },
  "plain lock, cache": { lock: "plain", cacheMs: 10_000 },
  "lease lock, no cache": { lock: "lease", cacheMs: 0 },
  "lease lock, cache, clocks that differ": {
    lock: "lease",
    cacheMs: 10_000,
    skewsMs: [0, 150_000, -150_000],
  },
};

/** Every story in every setting: what is searched through. */
export const SCENARIOS: readonly Scenario[] = Object.entries(STORIES).flatMap(([story, plot]) =>
  Object.entries(SETTINGS).map(([setting, how]) =>
    scenario(`${story}; ${setting}`, { ...plot, ...how, ...strict(plot) }),
  ),
);

/** A service that refuses early renewals goes by its clock, so those of the processes have to agree with it. */
function strict({ refusesEarly }: Story): Partial<Scenario> {
  return refusesEarly ? { skewsMs: [0, 0, 0] } : {};
}

/** One story in every setting. */
export function scenariosOf(story: string): readonly Scenario[] {
  return SCENARIOS.filter(({ name }) => name.startsWith(`${story}; `));
}

/** A story made up from a number. */
export function madeUp(number: number): Scenario {
  const chance = chanceOf(number);
  const one = <T>(of: readonly T[]): T => of[Math.floor(chance() * of.length)] as T;
  const processes = one([2, 2, 3]);
  const retailers = one([["shop"], ["shop"], ["shop", "cafe"]]);
  const place = () => Math.floor(chance() * processes);
  const action = (): Action =>
    one([ask, ask, ask, ask, reject, leave, login, disconnect])(place(), one(retailers));
  const oddity = (): Action =>
    one([action(), action(), action(), renewDue(place()), revoke, late, pass(one([4_000, 12_000, DAY_MS]))]);
  const actors = Array.from({ length: 3 + Math.floor(chance() * 2) }, () =>
    Array.from({ length: 1 + Math.floor(chance() * 3) }, oddity),
  );
  return scenario(`made up: ${number}`, {
    processes,
    retailers,
    actors,
    lock: one(["plain", "lease"]),
    cacheMs: one([0, 10_000]),
    rotates: chance() > 0.15,
    age: one([FRESH, EARLY, NOT_YET_DUE, AT_ITS_END, ENDED, ENDED]),
    isWarm: chance() > 0.3,
    skewsMs: one([
      [0, 0, 0],
      [0, 0, 0],
      [0, 150_000, -150_000],
    ]),
    bounds: { preemptions: Number.POSITIVE_INFINITY, faults: one([0, 1, 2, 3]) },
  });
}

/**
 * The same scenario within other bounds. What can be chosen depends on them, so they are part of its name: a schedule
 * means something only together with these.
 */
export function within(scenario: Scenario, bounds: Scenario["bounds"]): Scenario {
  const { preemptions, faults } = bounds;
  const most = Number.isFinite(preemptions) ? preemptions : "any";
  return { ...scenario, name: `${scenario.name} [${most}, ${faults}]`, bounds };
}

/** @throws {TypeError} nothing has this name. */
export function scenarioNamed(name: string): Scenario {
  const [, story = name, most, faults] = /^(.*) \[(any|\d+), (\d+)\]$/.exec(name) ?? [];
  const number = /^made up: (\d+)$/.exec(story)?.[1];
  const found = number === undefined ? SCENARIOS.find((one) => one.name === story) : madeUp(Number(number));
  if (!found) throw new TypeError(`There is no scenario "${name}"`);
  if (most === undefined) return found;
  const preemptions = most === "any" ? Number.POSITIVE_INFINITY : Number(most);
  return within(found, { preemptions, faults: Number(faults) });
}

function scenario(name: string, given: Story): Scenario {
  return {
    name,
    processes: 2,
    retailers: ["shop"],
    lock: "plain",
    cacheMs: 0,
    rotates: true,
    refusesEarly: false,
    isWarm: true,
    lifetimeMs: DAY_MS,
    skewsMs: [],
    faults: new Set(ALL),
    bounds: { preemptions: 2, faults: 1 },
    ...given,
  };
}
