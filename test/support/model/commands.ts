import type { FaultKind } from "@retail-pos/sandbox";
import fc from "fast-check";
import type { Process } from "./process.js";
import type { Trouble } from "./shared-store.js";
import { LIFETIME_MS, type World } from "./world.js";

/** One thing that happens, and what must hold after it. */
class Step implements fc.AsyncCommand<object, World> {
  private readonly name: string;
  private readonly happen: (world: World) => Promise<unknown>;

  constructor(name: string, happen: (world: World) => Promise<unknown>) {
    this.name = name;
    this.happen = happen;
  }

  check(): boolean {
    return true;
  }

  async run(_model: object, world: World): Promise<void> {
    const { truth } = world;
    const isAnswered = await world.settle(() => this.happen(world));
    truth.must(isAnswered, "somebody waits in vain");
    await world.settle(never, 10); // what was started beside it
    truth.atRest();
    if (truth.broken) throw new Error(`${this.name}: ${truth.broken}`);
  }

  toString(): string {
    return this.name;
  }
}

const never = () => new Promise(() => {});
const nth = fc.constantFrom(0, 1);
const of = (world: World, index: number) => world.processes[index] as Process;
const step = <T>(
  values: fc.Arbitrary<T>,
  name: (value: T) => string,
  happen: (world: World, value: T) => Promise<unknown>,
) => values.map((value) => new Step(name(value), (world) => happen(world, value)));

const login = step(
  nth,
  (p) => `p${p} logs in`,
  (world, p) => of(world, p).login(),
);
const disconnect = step(
  nth,
  (p) => `p${p} disconnects`,
  (world, p) => of(world, p).disconnect(),
);
const token = step(
  nth,
  (p) => `p${p} asks for a token`,
  (world, p) => of(world, p).token(),
);
const call = step(
  nth,
  (p) => `p${p} calls the API`,
  (world, p) => of(world, p).call(),
);

const rejected = step(
  fc.tuple(nth, fc.boolean()),
  ([p, isStored]) => `p${p} is told that ${isStored ? "the stored" : "some"} token was rejected`,
  async (world, [p, isStored]) => {
    const { latest } = of(world, p);
    const value = (isStored ? world.store.stored : latest)?.access.value;
    return of(world, p).token(value === undefined ? {} : { rejected: value });
  },
);

const together = step(
  fc.tuple(fc.integer({ min: 0, max: 4 }), fc.integer({ min: 1, max: 4 }), fc.boolean()),
  ([a, b, isApi]) => `p0 and p1 ${isApi ? "call the API" : "ask for a token"} ${a} and ${b} times at once`,
  (world, [a, b, isApi]) => {
    const asks = [...Array(a).fill(0), ...Array(b).fill(1)].map((p: number) => of(world, p));
    return Promise.all(asks.map((process) => (isApi ? process.call() : process.token())));
  },
);

const wait = step(
  fc.constantFrom(1_000, 9_999, 61_000, LIFETIME_MS / 2, LIFETIME_MS + 1, 86_400_000),
  (ms) => `${ms} ms pass`,
  async (world, ms) => world.time.advance(ms),
);
const waitFor = step(
  fc.constantFrom("early", "early", "expiry", "expiry", "expiry", "just before"),
  (what) => `time passes until the stored token is ${what === "expiry" ? "expired" : `at ${what}`}`,
  async (world, what) => {
    const until =
      (world.store.stored?.access.expiresAt ?? 0) -
      { early: 300_000, expiry: 0, "just before": 1 }[what as "early"];
    world.time.advance(Math.max(0, until - world.time()));
  },
);
const jump = step(
  fc.tuple(nth, fc.constantFrom(-86_400_000, -3_600_000, 3_600_000, 86_400_000, 0, 0)),
  ([p, ms]) => `the clock of p${p} is off by ${ms} ms`,
  async (world, [p, ms]) => {
    world.skews[p] = ms;
  },
);

const expire = step(
  fc.constant(0),
  () => "the service ends the access tokens",
  async ({ sandbox, retailer }) => sandbox.expire(retailer),
);
const refuse = step(
  fc.constant(0),
  () => "the service refuses the refresh tokens",
  async ({ sandbox, retailer }) => sandbox.refuse(retailer),
);
const limit = step(
  fc.constantFrom(1_000, 300_000, 7_200_000),
  (ms) => `429 for ${ms} ms`,
  async ({ sandbox, retailer }, ms) => sandbox.limit(retailer, ms),
);
/** Not 400 and 401: these count as a refusal where they name no OAuth error (behaviour 8). */
const tokenFaults: FaultKind[] = [
  403,
  404,
  408,
  429,
  500,
  503,
  "reset",
  "html",
  "half",
  "reset-after",
  "redirect",
  "silence",
];
const fault = step(
  fc.tuple(fc.constantFrom(...tokenFaults), fc.integer({ min: 1, max: 3 })),
  ([kind, times]) => `the token endpoint will answer ${kind}, ${times} times`,
  async (world, [kind, times]) => {
    for (let left = kind === "silence" ? 1 : times; left > 0; left -= 1) world.fault(kind, "token");
  },
);
/** A minute later nobody remembers it. */
const outage = step(
  fc.tuple(nth, fc.constantFrom(...tokenFaults), fc.integer({ min: 1, max: 2 })),
  ([p, kind, times]) => `p${p} renews, is answered ${kind}, and tries again ${times} times a minute later`,
  async (world, [p, kind, times]) => {
    const expiresAt = world.store.stored?.access.expiresAt ?? 0;
    world.time.advance(Math.max(0, expiresAt - world.time()));
    world.fault(kind, "token");
    for (let tries = 0; tries <= times; tries += 1) {
      await of(world, p).token();
      world.time.advance(61_000);
    }
  },
);
const apiFault = step(
  fc.constantFrom<FaultKind>(401, 401, 403, 500, "html"),
  (kind) => `the API will answer ${kind}`,
  async (world, kind) => world.fault(kind, "api"),
);
const heal = step(
  fc.constant(0),
  () => "the service is well again",
  async ({ sandbox, retailer }) => sandbox.clearFaults(retailer),
);

const trouble = step(
  fc.constantFrom<Trouble>("none", "none", "none", "unreadable", "unwritable", "down", "deaf"),
  (what) => `the store's trouble is: ${what}`,
  async ({ store }, what) => {
    store.trouble = what;
  },
);

async function crashAndRestart(world: World, p: number): Promise<void> {
  of(world, p).crash();
  world.restart(p);
}
const crash = step(nth, (p) => `p${p} crashes and starts again`, crashAndRestart);

/** While one process waits for the answer to its renewal. */
const meanwhiles: Record<string, (world: World, p: number) => Promise<unknown>> = {
  "the other one asks too": (world: World, p: number) => of(world, 1 - p).token(),
  "the other one calls the API": (world: World, p: number) => of(world, 1 - p).call(),
  "it is asked again": (world: World, p: number) => of(world, p).token(),
  "somebody logs in at the other one": (world: World, p: number) => of(world, 1 - p).login(),
  "somebody logs in there": (world: World, p: number) => of(world, p).login(),
  "the other one disconnects": (world: World, p: number) => of(world, 1 - p).disconnect(),
  "it crashes": crashAndRestart,
  "the other one crashes": (world: World, p: number) => crashAndRestart(world, 1 - p),
  "a minute passes": async (world: World) => world.time.advance(61_000),
  "the store goes down": async (world: World) => {
    world.store.trouble = "down";
  },
  "the service refuses the refresh tokens": async ({ sandbox, retailer }) => sandbox.refuse(retailer),
};
const slow = step(
  fc.tuple(
    nth,
    fc.boolean(),
    fc.array(fc.constantFrom(...Object.keys(meanwhiles)), { minLength: 1, maxLength: 3 }),
    fc.constantFrom(false, false, true),
  ),
  ([p, isLeft, all, isRefused]) =>
    `p${p} renews${isRefused ? " in vain" : ""}, and while the answer is on its way: ${isLeft ? "its caller leaves, " : ""}${all.join(", ")}`,
  async (world, [p, isLeft, all, isRefused]) => {
    world.sandbox.clearFaults(world.retailer);
    if (isRefused) world.sandbox.refuse(world.retailer);
    const expiresAt = world.store.stored?.access.expiresAt ?? 0;
    world.time.advance(Math.max(0, expiresAt - world.time()));
    const late = world.fault("late", "token");
    const caller = new AbortController();
    const waiting: { process: Process; work: Promise<unknown> }[] = [];
    const begin = (process: Process, work: Promise<unknown>) => {
      work.catch(() => {}); // looked at below, one after the other
      waiting.push({ process, work });
    };
    begin(of(world, p), of(world, p).token({ signal: caller.signal }));
    await world.settle(never, 0);
    if (isLeft) caller.abort();
    for (const what of all) {
      const process = what.startsWith("the other") ? of(world, 1 - p) : of(world, p);
      begin(process, (meanwhiles[what] as (typeof meanwhiles)[string])(world, p));
      await world.settle(never, 0);
    }
    world.release(late);
    // Nobody answers for the dead.
    for (const { process, work } of waiting) if (process.isAlive) await work;
  },
);

/** Random lives of one retailer's tokens; what happens often is written more often. */
export const lives: fc.Arbitrary<Iterable<fc.AsyncCommand<object, World>>> = fc.commands(
  [
    ...[
      login,
      login,
      token,
      token,
      call,
      call,
      rejected,
      together,
      together,
      wait,
      waitFor,
      waitFor,
      waitFor,
      slow,
      slow,
    ],
    ...[
      expire,
      refuse,
      limit,
      fault,
      fault,
      outage,
      apiFault,
      heal,
      trouble,
      trouble,
      crash,
      disconnect,
      jump,
    ],
  ],
  { maxCommands: 24, size: "max" },
);

/** Most lives begin with a login. */
export async function born(world: World): Promise<void> {
  await new Step("p0 logs in at first", () => of(world, 0).login()).run({}, world);
}

/** Everything is well again: what was not lost has to be there. */
export async function afterwards(world: World): Promise<void> {
  const { store, truth, sandbox, retailer } = world;
  sandbox.clearFaults(retailer);
  store.trouble = "none";
  world.skews.fill(0);
  const calls = () =>
    world.processes.map((process, p) => new Step(`p${p} calls in the end`, () => process.call()));
  for (let round = 0; round < 2; round += 1) {
    world.time.advance(2 * LIFETIME_MS);
    for (const one of calls()) await one.run({}, world);
  }
  if (truth.newest === undefined || !sandbox.accepts(retailer, truth.newest)) return;
  if (store.stored?.refreshToken !== truth.newest) throw new Error("The newest refresh token was not kept");
  const served = world.processes.map((process) => process.pos.retailer(retailer).fetch("api/retailer"));
  const statuses = Promise.all(served).then((responses) => responses.map(({ status }) => status));
  await world.settle(() => statuses);
  if ((await statuses).some((status) => status !== 200))
    throw new Error(`In the end the API answers ${await statuses}`);
}
