import { type Lock, memoryLock } from "@retail-pos/core";
import {
  type Fault,
  type FaultKind,
  type Rotation,
  type Sandbox,
  startSandbox,
  type VirtualClock,
  virtualClock,
} from "@retail-pos/sandbox";
import type { Scheduler } from "fast-check";
import { vi } from "vitest";
import { type Process, startProcess } from "./process.js";
import { type SharedStore, sharedStore } from "./shared-store.js";
import { type Truth, truthOf } from "./truth.js";

export interface Setting {
  readonly rotation: Rotation;
  readonly cacheMs: number;
  readonly rateLimit: number;
  readonly isLoggedIn: boolean;
}

/** An answer that has come from the service, as far as it came. */
export interface Arrived {
  readonly ok: boolean;
  readonly status: number;
  /** Absent where the body broke off. */
  readonly text: string | undefined;
  asResponse(): Response;
}

/** Two processes of one application, their store, and the service: a real sandbox over real connections. */
export interface World {
  readonly sandbox: Sandbox;
  readonly time: VirtualClock;
  readonly store: SharedStore;
  readonly truth: Truth;
  readonly lock: Lock;
  readonly retailer: string;
  readonly cacheMs: number;
  readonly processes: Process[];
  /** How far the clock of a process's machine is off, milliseconds. */
  readonly skews: number[];
  restart(nth: number): void;
  turn(what: string): Promise<void>;
  send(url: string, init: RequestInit, death: AbortSignal): Promise<Arrived>;
  fault(kind: FaultKind, endpoint: "token" | "api", times?: number): Fault;
  /** Lets the answer of a `"late"` fault go. */
  release(late: Fault): void;
  /** How many calls of the API a fault has struck. */
  apiFaults(): number;
  /**
   * Lets everything happen until the work is done. Timers run only when nothing else can happen, and no more
   * of them than `timers`: who tries again until the store is well would never be done.
   *
   * @returns whether the work is done.
   */
  settle(work: () => Promise<unknown>, timers?: number): Promise<boolean>;
  close(): Promise<void>;
}

export const RETAILER = "shop";
export const LIFETIME_MS = 3_600_000;
const START = Date.UTC(2030, 0, 1);
/** Past so many steps without an end, something waits for itself. */
const MOST_STEPS = 5_000;

/** `vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })` has to be in force. */
export async function openWorld(setting: Setting, scheduler: Scheduler): Promise<World> {
  const time = virtualClock(START);
  const sandbox = await startSandbox({
    clock: time,
    rotation: setting.rotation,
    lifetimeMs: LIFETIME_MS,
    rateLimit: { limit: setting.rateLimit, windowMs: 300_000 },
    stores: [{ domainPrefix: RETAILER, name: "Shop" }],
  });
  const store = sharedStore();
  const truth = truthOf(RETAILER, sandbox, store);
  let sending = 0;
  let depth = 0;
  /** Faults whose victims get no answer before somebody acts. */
  let holding: Fault[] = [];

  const world: World = {
    sandbox,
    time,
    store,
    truth,
    lock: memoryLock(),
    retailer: RETAILER,
    cacheMs: setting.cacheMs,
    processes: [],
    skews: [0, 0],
    restart(nth) {
      const life = Number(world.processes[nth]?.name.split(".")[1] ?? 0) + 1;
      world.processes[nth] = startProcess(world, `p${nth}.${life}`, () => world.skews[nth] ?? 0);
    },
    turn: (what) => scheduler.schedule(Promise.resolve(), what),
    async send(url, init, death) {
      const signal = init.signal ? AbortSignal.any([init.signal, death]) : death;
      sending += 1;
      try {
        const response = await fetch(url, { ...init, signal });
        return await arrived(response);
      } catch (error) {
        if (signal.aborted) holding = holding.filter(({ hits }) => hits === 0);
        throw error;
      } finally {
        sending -= 1;
      }
    },
    fault(kind, endpoint, times = 1) {
      const fault = sandbox.fault(kind, { domainPrefix: RETAILER, endpoint, times });
      if (kind === "silence" || kind === "late") holding.push(fault);
      return fault;
    },
    release(late) {
      holding = holding.filter((fault) => fault !== late);
      late.release();
    },
    apiFaults: () =>
      sandbox.requests.filter(({ endpoint, fault }) => endpoint === "api" && fault !== undefined).length,
    async settle(start, timers = MOST_STEPS) {
      let timersLeft = timers;
      const mine = ++depth;
      const work = start();
      let isDone = false;
      const over = () => {
        isDone = true;
      };
      work.then(over, over);
      for (let step = 0; step < MOST_STEPS; step += 1) {
        await everythingElse();
        if (depth > mine) continue; // the work itself settles something
        if (isDone) {
          depth -= 1;
          await work; // its error is the caller's
          return true;
        }
        const held = holding.reduce((sum, { hits }) => sum + hits, 0);
        if (sending > held) await answersCome();
        else if (scheduler.count() > 0) await scheduler.waitNext(1);
        else if (timersLeft > 0 && vi.getTimerCount() > 0) {
          timersLeft -= 1;
          vi.advanceTimersToNextTimer();
        } else {
          depth -= 1;
          return false;
        }
      }
      throw new Error("This never ends");
    },
    async close() {
      for (const process of world.processes) process.crash();
      await sandbox.close();
      vi.clearAllTimers();
    },
  };
  store.onLogin = (tokens) =>
    tokens ? truth.connected(tokens, world.processes[0] as Process) : truth.disconnected();
  world.restart(0);
  world.restart(1);
  return world;

  /** Something is on the wire, and this process has nothing to do but wait for it. */
  async function answersCome(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** What waits for nothing but its turn: an error passes a lock and several callers, each a turn of its own. */
async function everythingElse(): Promise<void> {
  for (let turn = 0; turn < 12; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** The body is read here, so that it is known to have come, and given on as it came. */
async function arrived(response: Response): Promise<Arrived> {
  const { status, headers, ok } = response;
  const text = await response.text().catch(() => undefined);
  const broken = () =>
    new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode('{"access_token":"sand'));
        controller.error(new TypeError("terminated"));
      },
    });
  return { ok, status, text, asResponse: () => new Response(text ?? broken(), { status, headers }) };
}
