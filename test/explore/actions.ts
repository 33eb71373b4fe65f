import type { DomainPrefix, TokenSet } from "@retail-pos/core";
import type { Life } from "./process.js";
import type { Step } from "./step.js";
import type { World } from "./world/world.js";

/** One thing that somebody does. */
export type Action =
  | {
      readonly kind: "ask" | "reject" | "leave" | "login" | "disconnect";
      readonly place: number;
      readonly retailer: string;
    }
  | { readonly kind: "renewDue"; readonly place: number }
  | { readonly kind: "revoke"; readonly retailer: string }
  | { readonly kind: "late" }
  | { readonly kind: "pass"; readonly ms: number };

/** Whoever does one thing after the other. */
export interface Actor {
  readonly position: number;
  readonly isWaiting: boolean;
  readonly name: string;
  /** What it does next, once the last is done. */
  readonly next: Act | undefined;
}

/** An action as a step. */
export interface Act extends Step {
  readonly action: Action;
  readonly movesTime: boolean;
}

export function startActor(world: World, actions: readonly Action[]): Actor {
  let position = 0;
  /** The life that it waits for; a process that was killed owes nobody anything. */
  let waitingFor: Life | undefined;
  let upNext: Act | undefined;

  return {
    get position() {
      return position * 2 + (isWaiting() ? 1 : 0);
    },
    get isWaiting() {
      return isWaiting();
    },
    get name() {
      const action = actions[position - 1];
      return action ? nameOf(action) : "nobody";
    },
    get next() {
      const action = actions[position];
      if (!action || isWaiting()) return undefined;
      if (upNext?.action !== action || upNext.life?.isAlive === false) upNext = act(action);
      return upNext;
    },
  };

  function isWaiting(): boolean {
    return waitingFor?.isAlive === true;
  }

  function act(action: Action): Act {
    const life = "place" in action ? world.places[action.place]?.life : undefined;
    return {
      action,
      life,
      name: nameOf(action),
      faults: [],
      movesTime: action.kind === "pass",
      happen() {
        position += 1;
        if (!life) return happenInTheWorld(world, action);
        life.reached(nameOf(action));
        const done = start(world, life, action);
        waitingFor = life;
        const over = () => {
          waitingFor = undefined;
        };
        done.then(over, over);
      },
    };
  }
}

function happenInTheWorld(world: World, action: Action): void {
  if (action.kind === "pass") world.pass(action.ms);
  if (action.kind === "late") world.service.slowDown();
  if (action.kind === "revoke") world.service.revoke(action.retailer);
}

function start(world: World, life: Life, action: Action): Promise<unknown> {
  switch (action.kind) {
    case "ask":
      return life.token(action.retailer).settled;
    case "reject":
      return life.token(action.retailer, { rejected: lastGiven(world, life, action.retailer) }).settled;
    case "leave":
      return leave(life, action.retailer);
    case "login":
      return logIn(world, life, action.retailer);
    case "disconnect":
      return noted(world, life, action.retailer, life.pos.disconnect(action.retailer));
    case "renewDue":
      life.runsTheJob = true;
      return life.pos.renewDue();
    default:
      return Promise.resolve();
  }
}

/** A caller who leaves at once: the work goes on without it. */
function leave(life: Life, retailer: string): Promise<unknown> {
  const caller = new AbortController();
  const asked = life.pos.tokens(retailer).token({ signal: caller.signal });
  caller.abort();
  return asked;
}

/** The API rejects what somebody here was given last. */
function lastGiven(world: World, life: Life, retailer: string): string {
  return world.judge.book.knows(life, retailer).given ?? "none";
}

function logIn(world: World, life: Life, retailer: string): Promise<unknown> {
  const { access, refreshToken } = world.service.logIn(retailer);
  const set: TokenSet = {
    domainPrefix: retailer as DomainPrefix,
    access: { value: access, expiresAt: life.now + world.scenario.lifetimeMs },
    refreshToken,
    issuedAt: life.now,
    version: life.uuid(),
  };
  world.logins.add(access);
  return noted(world, life, retailer, life.pos.connect(set));
}

/** A change that failed may have taken effect all the same, and its process knows that. */
function noted(world: World, life: Life, retailer: string, change: Promise<void>): Promise<void> {
  return change.catch(() => world.judge.store.changeFailed(life, retailer));
}

export function nameOf(action: Action): string {
  switch (action.kind) {
    case "ask":
      return `somebody asks for a token of ${action.retailer}`;
    case "reject":
      return `somebody was answered 401 with the token of ${action.retailer}, and asks for another`;
    case "leave":
      return `somebody asks for a token of ${action.retailer} and leaves`;
    case "login":
      return `${action.retailer} logs in`;
    case "disconnect":
      return `${action.retailer} is disconnected`;
    case "renewDue":
      return "the fleet's job runs";
    case "revoke":
      return `the service ends the tokens of ${action.retailer}`;
    case "late":
      return "the service's next answer will be late";
    case "pass":
      return `${action.ms} ms pass`;
  }
}
