import type { DomainPrefix, Lock, TokenSet, TokenStore } from "@retail-pos/core";
import { ask } from "./operation.js";
import type { Life } from "./process.js";
import { LIMIT_MS, type ServiceAnswer } from "./service.js";
import type { Fault } from "./step.js";

const STORE: readonly Fault[] = ["fails", "is delayed"];
const STORE_ANSWER: readonly Fault[] = ["fails after its effect", "is never answered"];
const SERVICE: readonly Fault[] = ["fails", "500", "429", "is delayed"];
const SERVICE_ANSWER: readonly Fault[] = ["fails after its effect", "is never answered"];
/** So that a lease can end while the work that it is for goes on. */
const LEASE_MS = 3_000;

/** One process's way to the store that all share. */
export function storeOf(life: Life): TokenStore {
  const { world } = life;
  const { store, judge } = world;
  const both = { life, faults: STORE, faultsOfAnswer: STORE_ANSWER };
  return {
    load(retailer) {
      const load = judge.loadSent(life, retailer);
      return ask<TokenSet | undefined>({
        ...both,
        what: `load ${retailer}`,
        effect: () => {
          const set = store.get(retailer);
          judge.loadReached(life, load, set);
          return set;
        },
        digest: (set) => set?.version ?? "nothing",
        told: (answer) => judge.loadAnswered(life, load, answer),
      });
    },
    save(next, replacing) {
      const changes = judge.storeAsked(life, next.domainPrefix);
      return ask<boolean>({
        ...both,
        what: `save ${next.domainPrefix} ${next.access.value} ${next.refreshToken}${noteOf(next)}`,
        effect: () => {
          const isSaved =
            replacing === undefined || store.get(next.domainPrefix)?.version === replacing.version;
          if (isSaved) store.set(next, life, replacing);
          return isSaved;
        },
        digest: String,
        told: (answer) => judge.saveAnswered(life, next, changes, answer),
      });
    },
    remove(retailer) {
      const changes = judge.storeAsked(life, retailer);
      return ask<void>({
        ...both,
        what: `remove ${retailer}`,
        effect: () => store.delete(retailer),
        digest: () => "done",
        told: (answer) => judge.removeAnswered(life, retailer, changes, answer),
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
  const asked = (what: "take" | "extend" | "release", key: string, effect: () => boolean) =>
    ask<boolean>({
      life,
      what: `${what} ${key}`,
      faults: ["fails"],
      faultsOfAnswer: ["fails after its effect", "is never answered"],
      effect,
      digest: String,
      told: (answer) => {
        if (!("value" in answer)) world.judge.failed(life, retailerOf(key));
      },
    });
  return place.core.leaseLock({
    leaseMs: LEASE_MS,
    take: ({ key, owner, leaseMs }) =>
      asked("take", key, () => {
        const isTaken = world.leases.take(key, owner, leaseMs);
        if (isTaken) world.judge.locked(life, retailerOf(key));
        return isTaken;
      }),
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
    const request = world.judge.requestSent(life, retailer, refreshToken);
    const answer = await ask<ServiceAnswer>({
      life,
      what: `refresh ${refreshToken}`,
      faults: SERVICE,
      faultsOfAnswer: SERVICE_ANSWER,
      effect: (fault) => {
        if (fault === "500") return { status: 500, body: "{}" };
        if (fault === "429") return { status: 429, body: "{}", resetAt: world.now + LIMIT_MS };
        return world.service.refresh(refreshToken);
      },
      digest: ({ status, issued }) => `${status} ${issued?.access ?? ""}`,
      // What comes after core's deadline reaches nobody.
      told: (told) =>
        world.judge.requestAnswered(life, request, init?.signal?.aborted ? { givenUp: true } : told),
    });
    return responseOf(answer);
  };
}

/** What core needs of a response, and nothing that costs time. */
function responseOf({ status, body, resetAt }: ServiceAnswer): Response {
  const headers: Record<string, string> = {
    "content-length": String(body.length),
    ...(resetAt !== undefined && { "x-ratelimit-reset": String(Math.ceil(resetAt / 1000)) }),
  };
  return {
    status,
    headers: {
      get: (name: string) => headers[name.toLowerCase()] ?? null,
      has: (name: string) => name in headers,
    },
    body: { cancel: async () => {} },
    text: () => body,
    redirected: false,
    type: "basic",
  } as unknown as Response;
}

function noteOf({ refusedAt, limitedUntil }: TokenSet): string {
  return `${refusedAt === undefined ? "" : " refused"}${limitedUntil === undefined ? "" : " limited"}`;
}

function retailerOf(key: string): string {
  return key.slice(key.lastIndexOf("/") + 1);
}
