import type { DomainPrefix, Lock, TokenSet, TokenStore } from "@retail-pos/core";
import { ask } from "./operation.js";
import type { Life } from "./process.js";
import { LIMIT_MS, type ServiceAnswer } from "./service.js";
import { retailerOf } from "./shared.js";
import type { Fault } from "./step.js";

const STORE: readonly Fault[] = ["fails", "is delayed", "is slow"];
const STORE_ANSWER: readonly Fault[] = ["fails after its effect", "is never answered", "is slow"];
const SERVICE: readonly Fault[] = [
  "fails",
  "500",
  "429",
  "nothing remains",
  "is delayed",
  "is slow",
  "is late",
];
const SERVICE_ANSWER: readonly Fault[] = [
  "fails after its effect",
  "is never answered",
  "is slow",
  "is late",
];
/** So that a lease can end while the work that it is for goes on. */
const LEASE_MS = 3_000;

/** One process's way to the store that all share. */
export function storeOf(life: Life): TokenStore {
  const { world } = life;
  const { store, judge } = world;
  const both = { life, faults: STORE, faultsOfAnswer: STORE_ANSWER, isToTheStore: true };
  return {
    load(retailer) {
      const question = judge.store.asked(life, "load", retailer);
      return ask<TokenSet | undefined>({
        ...both,
        what: `load ${retailer}`,
        effect: () => {
          const set = store.get(retailer);
          judge.store.reached(life, question, set);
          return set;
        },
        digest: (set) => set?.version ?? "nothing",
        told: (answer) => judge.store.loadAnswered(life, question, answer),
      });
    },
    save(next, replacing) {
      const question = judge.store.asked(life, "save", next.domainPrefix);
      return ask<boolean>({
        ...both,
        what: `save ${next.domainPrefix} ${next.access.value} ${next.refreshToken}${noteOf(next)}`,
        effect: () => {
          judge.store.reached(life, question);
          const isSaved =
            replacing === undefined || store.get(next.domainPrefix)?.version === replacing.version;
          if (isSaved) store.set(next, life, replacing);
          return isSaved;
        },
        digest: String,
        told: (answer) => judge.store.saveAnswered(life, question, next, answer),
      });
    },
    remove(retailer) {
      const question = judge.store.asked(life, "remove", retailer);
      return ask<void>({
        ...both,
        what: `remove ${retailer}`,
        effect: () => {
          judge.store.reached(life, question);
          store.delete(retailer);
        },
        digest: () => "done",
        told: (answer) => judge.store.removeAnswered(life, question, answer),
      });
    },
    list() {
      return ask({
        ...both,
        what: "list",
        effect: () => ({ retailers: store.statuses() }),
        digest: ({ retailers }) => retailers.map(({ domainPrefix }) => domainPrefix).join(),
        told: () => {},
      });
    },
  };
}

/** One process's way to the lock: the world's own, or core's lease over the world's table of leases. */
export function lockOf(life: Life): Lock {
  const { world, place } = life;
  if (world.scenario.lock === "plain") {
    return async (key, work) => {
      await world.locks.granted(life, key);
      try {
        return await work();
      } finally {
        world.locks.released(life, key);
      }
    };
  }
  const asked = (what: "take" | "extend" | "release", key: string, effect: () => boolean) => {
    // If a lease cannot be extended or given back, nobody is told: it ends by itself.
    const question = what === "take" ? world.judge.store.asked(life, "lock", retailerOf(key)) : undefined;
    return ask<boolean>({
      life,
      what: `${what} ${key}`,
      faults: ["fails", "is slow"],
      faultsOfAnswer: ["fails after its effect", "is never answered", "is slow"],
      effect,
      digest: String,
      told: (answer) => question && world.judge.store.lockAnswered(life, question, answer),
    });
  };
  return place.core.leaseLock({
    leaseMs: LEASE_MS,
    take: ({ key, owner, leaseMs }) => asked("take", key, () => world.leases.take(life, key, owner, leaseMs)),
    extend: ({ key, owner, leaseMs }) => asked("extend", key, () => world.leases.extend(key, owner, leaseMs)),
    release: ({ key, owner }) => asked("release", key, () => world.leases.release(key, owner)),
  });
}

/** One process's way to the token endpoint. */
export function fetchOf(life: Life): typeof globalThis.fetch {
  const { world } = life;
  return async (url, init) => {
    const retailer = String(url).split(/[/.]/)[2] as DomainPrefix;
    const refreshToken = /refresh_token=([^&]+)/.exec(String(init?.body))?.[1] ?? "";
    const { requests } = world.judge;
    const request = requests.sent(life, retailer, refreshToken);
    life.sends(request);
    init?.signal?.addEventListener("abort", () => life.givesUp(request));
    const answer = await ask<ServiceAnswer>({
      life,
      what: `refresh ${refreshToken}`,
      faults: SERVICE,
      faultsOfAnswer: SERVICE_ANSWER,
      effect: (fault) => {
        if (fault === "500") return { status: 500, body: "{}" };
        const resetAt = world.now + LIMIT_MS;
        if (fault === "429") return { status: 429, body: "{}", resetAt };
        const answer = world.service.refresh(refreshToken);
        return fault === "nothing remains" && answer.issued ? { ...answer, resetAt } : answer;
      },
      digest: ({ status, issued }) => `${status} ${issued?.access ?? ""}`,
      isAnsweredLate: () => world.service.takesLate(),
      signal: init?.signal,
      told: (said) => {
        if ("givenUp" in said) return; // nobody hears of that
        life.requests.delete(request);
        requests.answered(life, request, said);
      },
    });
    return responseOf(answer);
  };
}

/** What core needs of a response, and nothing that costs time. */
function responseOf({ status, body, resetAt }: ServiceAnswer): Response {
  const headers: Record<string, string> = {
    ...(resetAt !== undefined && { "x-ratelimit-reset": String(Math.ceil(resetAt / 1000)) }),
    ...(resetAt !== undefined && status === 200 && { "x-ratelimit-remaining": "0" }),
  };
  return {
    status,
    headers: {
      get: (name: string) => headers[name.toLowerCase()] ?? null,
      has: (name: string) => name in headers,
    },
    body: {
      cancel: async () => {},
      async *[Symbol.asyncIterator]() {
        yield new TextEncoder().encode(body);
      },
    },
    redirected: false,
    type: "basic",
  } as unknown as Response;
}

function noteOf({ refusedAt, refusedEarlyAt, limitedUntil }: TokenSet): string {
  const early = refusedEarlyAt === undefined ? "" : " early";
  return `${refusedAt === undefined ? "" : " refused"}${early}${limitedUntil === undefined ? "" : " limited"}`;
}
