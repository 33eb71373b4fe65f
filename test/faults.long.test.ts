import { randomBytes } from "node:crypto";
import { retailPos } from "@retail-pos/core";
import {
  type Fault,
  type FaultKind,
  type LoggedRequest,
  type Sandbox,
  startSandbox,
  virtualClock,
} from "@retail-pos/sandbox";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { type Failure, type LoadReport, type Process, startProcess } from "./support/faults-processes.js";
import { type BreakableStore, stores } from "./support/faults-stores.js";

// Everything the sandbox can do to us, while three processes on one store call the API for a dozen retailers. Time
// is virtual, the service's and each process's own; it moves only where a step says so.

const PROCESSES = 3;
const RETAILERS = 12;
const LIFETIME_MS = 600_000;
const MINUTE_MS = 61_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;
/** Longer than a process trusts its copy (`cacheMs`). */
const CACHE_MS = 11_000;
/** So few that all of them are under way long before the first one's deadline. */
const HELD_ANSWERS = 4;
/** Within the last tenth of a token's life, where it is renewed early (behaviour 5). */
const EARLY_MS = LIFETIME_MS * 0.95;

/** One thing that happens to the application while it is under load. */
interface Step {
  readonly name: string;
  /** Before the load: time passes, and a trouble waits. */
  readonly before?: (world: World) => unknown;
  /** In the middle of it. */
  readonly during?: (world: World) => unknown;
  readonly after?: (world: World) => unknown;
  /** Why a call may fail; none where the application has all it needs. */
  readonly reasons?: readonly string[];
  /** How many token requests every retailer needs at least: one where its token ended and can be had again. */
  readonly least: number;
  /** How many it may cost by behaviours 4 to 9; see the steps for the reason. Default: the least. */
  readonly most?: number;
}

/**
 * A process that fails holds back for the retailer (behaviour 7): while time stands still that is one request of each
 * process. With `once` the second process succeeds (behaviour 4: the others adopt what it saved).
 */
const ONE_EACH = PROCESSES;
const ONE_FAILURE = 2;

/** A token ended while the service did its worst; afterwards it is renewed by one request, without a login. */
function ended(kind: FaultKind, reason: string, waitMs = LIFETIME_MS): Step[] {
  return [
    {
      name: `${kind}, tokens ended`,
      before: async (world) => {
        await world.pass(LIFETIME_MS);
        world.sandbox.fault(kind, { times: Number.POSITIVE_INFINITY });
      },
      after: ({ sandbox }) => sandbox.clearFaults(),
      reasons: [reason],
      least: 0,
      most: ONE_EACH,
    },
    { name: `after ${kind}`, before: (world) => world.pass(waitMs), least: 1 },
  ];
}

/** The same while the held tokens live: nobody notices (behaviour 6). */
function early(kind: FaultKind): Step[] {
  return [
    {
      name: `${kind}, tokens live`,
      before: async (world) => {
        await world.pass(EARLY_MS);
        world.sandbox.fault(kind, { times: Number.POSITIVE_INFINITY });
      },
      after: ({ sandbox }) => sandbox.clearFaults(),
      least: 0,
      most: ONE_EACH,
    },
    { name: `after ${kind}`, before: (world) => world.pass(LIFETIME_MS), least: 1 },
  ];
}

/** The first token request of each retailer has no good end; the next one does. */
function once(kind: FaultKind): Step {
  return {
    name: `${kind}, once`,
    before: async (world) => {
      await world.pass(LIFETIME_MS);
      for (const retailer of world.retailers) world.sandbox.fault(kind, { domainPrefix: retailer });
    },
    after: ({ sandbox }) => sandbox.clearFaults(),
    reasons: ["token_endpoint_failed"],
    least: 1,
    most: ONE_FAILURE,
  };
}

/**
 * A clock jumps under load, an expiry follows while it is wrong, and it jumps back. Each process may find the token
 * ended by its own clock, so each jump may cost one request of each process; nobody goes without.
 *
 * A process whose clock is ahead of another's takes what that one has just renewed for ended and renews again, which
 * ends the other's: a call that is caught between the two gets the API's own 401, for a minute at most. If one process
 * is behind, the others are ahead of it.
 */
function jump(whose: "a process's" | "the service's", ms: number): Step[] {
  const by = (sign: number) => (world: World) =>
    whose === "the service's" ? world.jumpService(sign * ms) : world.jumpProcess(0, sign * ms);
  const size = `${Math.abs(ms) === DAY_MS ? "a day" : "an hour"} ${ms > 0 ? "ahead" : "behind"}`;
  const reasons = whose === "a process's" ? ["api 401"] : [];
  return [
    { name: `${whose} clock ${size}`, during: by(1), least: 0, most: ONE_EACH },
    {
      name: "expiry meanwhile",
      before: (world) => world.pass(LIFETIME_MS),
      reasons,
      least: 1,
      most: ONE_EACH,
    },
    { name: "and back", before: (world) => world.pass(MINUTE_MS), during: by(-1), least: 0, most: ONE_EACH },
    { name: "expiry afterwards", before: (world) => world.pass(LIFETIME_MS), least: 1, most: ONE_EACH },
  ];
}

const steps: Step[] = [
  { name: "expiry", before: (world) => world.pass(LIFETIME_MS), least: 1 },
  // Here, after an odd number of renewals, because the next one does not rotate: a rotated refresh token that never
  // arrives is the one loss that no client can prevent.
  once("half"),
  once("reset-after"),
  { name: "after both", before: (world) => world.pass(LIFETIME_MS), least: 1 },
  once("silence"),
  {
    name: "late",
    before: async (world) => {
      await world.pass(LIFETIME_MS);
      for (const retailer of world.retailers) {
        const late = world.sandbox.fault("late", { domainPrefix: retailer });
        late.struck.then(late.release);
      }
    },
    least: 1,
  },
  ...ended("reset", "token_endpoint_failed"),
  ...ended("html", "bad_token_response"),
  ...ended("redirect", "token_endpoint_failed"),
  ...ended(500, "token_endpoint_failed"),
  ...ended(503, "token_endpoint_failed"),
  ...ended(429, "rate_limited"),
  // A 400 or 401 without a word refuses the refresh token, for an hour (behaviour 8).
  ...ended(400, "reconnect_required", HOUR_MS),
  ...ended(401, "reconnect_required", HOUR_MS),
  ...early(500),
  ...early(429),
  ...early("reset"),
  {
    name: "429 for ten minutes",
    before: async (world) => {
      await world.pass(LIFETIME_MS);
      for (const retailer of world.retailers) world.sandbox.limit(retailer, LIFETIME_MS);
    },
    reasons: ["rate_limited"],
    least: 0,
    most: ONE_EACH,
  },
  { name: "after ten minutes", before: (world) => world.pass(LIFETIME_MS), least: 1 },
  {
    name: "tokens ended, and only the service knows",
    during: ({ sandbox, retailers }) => {
      for (const retailer of retailers) sandbox.expire(retailer);
    },
    least: 1,
  },
  ...jump("a process's", HOUR_MS),
  ...jump("a process's", -HOUR_MS),
  ...jump("a process's", DAY_MS),
  ...jump("a process's", -DAY_MS),
  ...jump("the service's", HOUR_MS),
  ...jump("the service's", -HOUR_MS),
  ...jump("the service's", DAY_MS),
  ...jump("the service's", -DAY_MS),
  { name: "store away", during: ({ store }) => store.goAway(), least: 0 },
  { name: "store away, copies old", before: (world) => world.pass(CACHE_MS), least: 0 },
  // Without the lock no token request goes out.
  {
    name: "store away, tokens ended",
    before: (world) => world.pass(LIFETIME_MS),
    reasons: ["store_failed"],
    least: 0,
  },
  {
    name: "store back",
    before: async (world) => {
      await world.store.comeBack();
      await world.pass(LIFETIME_MS);
    },
    least: 1,
  },
  // Behaviour 9: the one process that was answered keeps what it got, and serves its callers. Another one that has the
  // lock before the store has the tokens sends the old refresh token: refused, until the kept set is saved.
  {
    name: "store away before the answer is saved",
    before: async (world) => {
      await world.pass(LIFETIME_MS);
      world.holdAnswers();
    },
    during: async (world) => {
      await world.answersAreHeld();
      await world.store.goAway();
      world.letAnswersGo();
      await world.nobodyCouldSave();
      await world.store.comeBack();
    },
    reasons: ["store_failed", "reconnect_required"],
    least: 1,
    most: ONE_FAILURE,
  },
  {
    name: "after that",
    before: async (world) => {
      await everybodyHasTokens(world);
      await world.pass(LIFETIME_MS);
    },
    least: 1,
  },
];

/** Each use tries again to save what one process alone has; until then the others are told of the refused one. */
async function everybodyHasTokens({ processes, retailers, newTokenRequests }: World): Promise<void> {
  const have = async () => (await Promise.all(processes.map((one) => one.tokens(retailers)))).flat();
  while (!(await have()).every(Boolean)) await new Promise((resolve) => setTimeout(resolve, 100));
  newTokenRequests(); // those do not count for the step that follows
}

interface Row extends LoadReport {
  readonly step: string;
  readonly requests: number;
  readonly least: number;
  readonly most: number;
}

const reports: string[] = [];
afterAll(() => console.log(reports.join("\n\n")));

test.concurrent.each(Object.keys(stores))(
  "three processes on %s lose no retailer, and fail no call without a reason",
  { timeout: 600_000 },
  async (engine) => {
    const world = await startWorld(engine);
    try {
      const rows: Row[] = [];
      for (const step of steps) rows.push(await run(step, world));
      const lost = await lostRetailers(world);
      reports.push(reportOf(engine, rows, lost));
      for (const [index, step] of steps.entries()) check(step, rows[index] as Row);
      expect(lost).toEqual([]);
      expect(world.sandbox.requests.filter(({ endpoint }) => endpoint === "trap")).toEqual([]);
    } finally {
      await world.end();
    }
  },
);

// The steps above place these two where the service does not rotate.
test.each(["half", "reset-after"] as const)(
  "an answer lost on the way after a rotation (%s) costs its retailer a login, as a kill does, and nobody else",
  async (kind) => {
    const clock = virtualClock();
    const sandbox = await startSandbox({ clock, rotation: "always", lifetimeMs: LIFETIME_MS });
    onTestFinished(() => sandbox.close());
    const { application, authUrl, baseUrl } = sandbox;
    const pos = retailPos({ ...application, authUrl, baseUrl, clock });
    const logIn = async (retailer: string) => {
      const code = sandbox.approve(retailer).searchParams.get("code") ?? "";
      await pos.connect(await pos.exchange(retailer, code));
    };
    const token = (retailer: string) => pos.tokens(retailer).token();
    const [unlucky, neighbour] = sandbox.stores.map(({ domainPrefix }) => domainPrefix) as [string, string];
    await logIn(unlucky);
    await logIn(neighbour);

    clock.advance(LIFETIME_MS);
    sandbox.fault(kind, { domainPrefix: unlucky });
    await expect(token(unlucky)).rejects.toMatchObject({ code: "token_endpoint_failed" });
    clock.advance(MINUTE_MS);
    await expect(token(unlucky)).rejects.toMatchObject({ code: "reconnect_required" });
    expect(sandbox.accepts(neighbour, (await token(neighbour)).value)).toBe(true);

    await logIn(unlucky);
    expect(sandbox.accepts(unlucky, (await token(unlucky)).value)).toBe(true);
  },
);

async function run(step: Step, world: World): Promise<Row> {
  await step.before?.(world);
  const load = world.load();
  await step.during?.(world);
  const loads = [...(await load), ...(await world.load())];
  await step.after?.(world);
  return {
    step: step.name,
    served: loads.reduce((sum, { served }) => sum + served, 0),
    failures: loads.flatMap(({ failures }) => failures),
    requests: world.newTokenRequests().length,
    least: step.least * RETAILERS,
    most: (step.most ?? step.least) * RETAILERS,
  };
}

function check({ name, reasons = [] }: Step, { failures, requests, least, most }: Row): void {
  expect({ step: name, needless: failures.filter(({ wasNeedless }) => wasNeedless) }).toEqual({
    step: name,
    needless: [],
  });
  expect({ step: name, unexpected: failures.filter(({ reason }) => !reasons.includes(reason)) }).toEqual({
    step: name,
    unexpected: [],
  });
  expect(requests, `token requests in "${name}"`).toBeGreaterThanOrEqual(least);
  expect(requests, `token requests in "${name}"`).toBeLessThanOrEqual(most);
}

/** Whom a process has no token for that the service accepts. Nobody logged in again: codes would have been sent. */
async function lostRetailers({ sandbox, retailers, processes, pass }: World): Promise<string[]> {
  await pass(LIFETIME_MS);
  const values = await Promise.all(processes.map((process) => process.tokens(retailers)));
  return retailers.filter((retailer, index) =>
    values.some((tokens) => !sandbox.accepts(retailer, tokens[index] ?? "")),
  );
}

interface World {
  readonly sandbox: Sandbox;
  readonly store: BreakableStore;
  readonly retailers: readonly string[];
  readonly processes: readonly Process[];
  /** Calls in all processes at once; answers when all are through. */
  load(): Promise<LoadReport[]>;
  /** Time passes, for everybody at once. */
  pass(ms: number): Promise<void>;
  jumpService(ms: number): void;
  jumpProcess(index: number, ms: number): Promise<void>;
  /** The next answer of the token endpoint to some retailers waits, its work done. */
  holdAnswers(): void;
  answersAreHeld(): Promise<unknown>;
  letAnswersGo(): void;
  /** Resolves when the tokens that were held back are in one process alone. */
  nobodyCouldSave(): Promise<void>;
  newTokenRequests(): LoggedRequest[];
  end(): Promise<void>;
}

async function startWorld(engine: string): Promise<World> {
  let serviceNow = Date.UTC(2030, 0, 1);
  const sandbox = await startSandbox({
    clock: () => serviceNow,
    rotation: "sometimes",
    lifetimeMs: LIFETIME_MS,
    stores: RETAILERS,
    rateLimit: { limit: 100_000, windowMs: 300_000 },
  });
  const retailers = sandbox.stores.map(({ domainPrefix }) => domainPrefix);
  const namespace = `retail_pos_faults_${randomBytes(6).toString("hex")}`;
  const store = await (stores[engine] as (namespace: string) => Promise<BreakableStore>)(namespace);
  const { authUrl, baseUrl, application } = sandbox;
  const env = {
    ENGINE: engine,
    NAMESPACE: namespace,
    STORE_URL: store.url,
    OPTIONS: JSON.stringify({ ...application, authUrl, baseUrl }),
  };
  const heldBack = retailers.slice(0, HELD_ANSWERS);
  const unsaved = new Set<string>();
  let allAreUnsaved = () => {};
  const lookWhoIsUnsaved = () => {
    if (heldBack.every((retailer) => unsaved.has(retailer))) allAreUnsaved();
  };
  const noteUnsaved = (retailer: string) => {
    unsaved.add(retailer);
    lookWhoIsUnsaved();
  };
  const processes = await Promise.all(
    Array.from({ length: PROCESSES }, () => startProcess(env, noteUnsaved)),
  );
  const clocks = processes.map(() => serviceNow);
  let held: Fault[] = [];
  let lastSeen = 0;

  const world: World = {
    sandbox,
    store,
    retailers,
    processes,
    load: () => Promise.all(processes.map((process) => process.load(retailers))),
    async pass(ms) {
      serviceNow += ms;
      await Promise.all(processes.map((_, index) => world.jumpProcess(index, ms)));
    },
    jumpService(ms) {
      serviceNow += ms;
    },
    async jumpProcess(index, ms) {
      const now = (clocks[index] ?? 0) + ms;
      clocks[index] = now;
      await processes[index]?.setTime(now);
    },
    holdAnswers() {
      held = heldBack.map((retailer) => sandbox.fault("late", { domainPrefix: retailer }));
    },
    answersAreHeld: () => Promise.all(held.map(({ struck }) => struck)),
    letAnswersGo() {
      for (const fault of held) fault.release();
    },
    nobodyCouldSave: () =>
      new Promise((resolve) => {
        allAreUnsaved = resolve;
        lookWhoIsUnsaved();
      }),
    newTokenRequests() {
      const { requests } = sandbox;
      if ((requests[0]?.id ?? 1) > lastSeen + 1)
        throw new Error("the sandbox's log is too short for one step");
      const fresh = requests.filter(({ id }) => id > lastSeen);
      lastSeen = requests.at(-1)?.id ?? lastSeen;
      return fresh.filter(({ grantType }) => grantType === "refresh_token");
    },
    async end() {
      await store.comeBack().catch(() => {});
      await Promise.all(processes.map((process) => process.stop()));
      await store.end();
      await sandbox.close();
    },
  };
  await world.pass(0);
  for (const retailer of retailers) {
    await processes[0]?.logIn(retailer, sandbox.approve(retailer).searchParams.get("code"));
  }
  world.newTokenRequests();
  return world;
}

/** What happened, step by step. */
function reportOf(engine: string, rows: readonly Row[], lost: readonly string[]): string {
  const lines = rows.map(({ step, served, failures, requests, least, most }) =>
    [step.padEnd(44), served, failures.length, requests, least, most]
      .map((cell) => String(cell).padStart(7))
      .join(" ")
      .concat("   ", reasonsOf(failures)),
  );
  const sum = (of: (row: Row) => number) => rows.reduce((total, row) => total + of(row), 0);
  return [
    `${engine}: ${RETAILERS} retailers, ${PROCESSES} processes, ${rows.length} steps`,
    `${"".padEnd(44)}  served  failed   token requests: made, least, most   why calls failed`,
    ...lines,
    `calls served ${sum(({ served }) => served)}, failed ${sum(({ failures }) => failures.length)}; ` +
      `token requests ${sum(({ requests }) => requests)}, the least possible ${sum(({ least }) => least)}, ` +
      `the most allowed ${sum(({ most }) => most)}; retailers lost ${lost.length}`,
  ].join("\n");
}

function reasonsOf(failures: readonly Failure[]): string {
  const counts = new Map<string, number>();
  for (const { reason } of failures) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  return [...counts].map(([reason, count]) => `${reason} ${count}`).join(", ");
}
