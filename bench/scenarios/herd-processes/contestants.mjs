// Who shares one store among processes, and how.
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { retailPos } from "@retail-pos/core";
import { tokenSet } from "../../contestants/ours.mjs";
import { APPLICATION } from "../../lib/service.mjs";
import { engines } from "../growth/populations.mjs";

export const names = {
  floor: "one plain fetch",
  "ours-redis": "ours, Redis",
  "ours-postgres": "ours, PostgreSQL",
  "ours-sqlite": "ours, SQLite",
  "promise-map": "hand-written, promise map, tokens in Redis",
  "redis-lock": "hand-written, promise map and a lock in Redis",
};

/** Each contestant in one process: `{ bearer, steps, close }`; ours notes when it came to which step. */
export async function open(kind, engine, name, service) {
  const shared = await engines[engine](name);
  const { store } = shared.tokens;
  const steps = [];
  const bearer = {
    floor: () => floor(service),
    "promise-map": () => promiseMap(service, store, (_, work) => work()),
    "redis-lock": () => promiseMap(service, store, redisLock(shared.client, name)),
  }[kind];
  return {
    bearer: (bearer ?? (() => ours(service, watched(shared.tokens, steps))))(),
    steps,
    close: shared.close,
  };
}

function ours({ address, baseUrl }, { store, lock }) {
  const pos = retailPos({ ...APPLICATION, authUrl: address, baseUrl, store, lock });
  return async (retailer) => (await pos.tokens(retailer).token()).value;
}

function watched({ store, lock }, steps) {
  const note = (step) => steps.push({ step, at: now() });
  return {
    lock,
    store: {
      ...store,
      async load(...asked) {
        const stored = await store.load(...asked);
        note("looked");
        return stored;
      },
      async save(...asked) {
        note("answered"); // by the token endpoint
        const isSaved = await store.save(...asked);
        note("saved");
        return isSaved;
      },
    },
  };
}

/** The machine's clock, the same in all processes, with fractions of a millisecond. */
export function now() {
  return performance.timeOrigin + performance.now();
}

/** The token request alone, one for all callers: nothing is looked up and nothing is kept. */
function floor(service) {
  let held;
  let renewal;
  return async (retailer, login) => {
    if (login) {
      held = login;
      renewal = undefined;
      return login.accessToken;
    }
    renewal ??= refresh(service, retailer, held.refreshToken);
    return (await renewal).access_token;
  };
}

/** As people write it: one renewal in each process, its result in the store. */
function promiseMap(service, store, lock) {
  const known = new Map();
  const renewing = new Map();

  return async function bearer(retailer) {
    const held = known.get(retailer) ?? (await look(retailer));
    if (isLive(held)) return held.access.value;
    let renewal = renewing.get(retailer);
    if (!renewal) {
      renewal = lock(retailer, () => renew(retailer)).finally(() => renewing.delete(retailer));
      renewing.set(retailer, renewal);
    }
    return renewal;
  };

  async function renew(retailer) {
    const held = await look(retailer);
    if (isLive(held)) return held.access.value; // somebody else was first
    const { access_token, refresh_token, expires_in } = await refresh(service, retailer, held.refreshToken);
    const expiresAt = Date.now() + expires_in * 1000;
    const next = tokenSet(retailer, { accessToken: access_token, refreshToken: refresh_token, expiresAt });
    await store.save(next);
    known.set(retailer, next);
    return access_token;
  }

  async function look(retailer) {
    const held = await store.load(retailer);
    known.set(retailer, held);
    return held;
  }

  function isLive({ access }) {
    return Date.now() < access.expiresAt;
  }
}

/** `SET NX PX`, asked for again as often as ours at first, and deleted by its owner. */
function redisLock(client, name) {
  const release = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end";
  return async (retailer, work) => {
    const [key, owner] = [`${name}:by-hand:${retailer}`, randomUUID()];
    while ((await client.set(key, owner, "PX", 10_000, "NX")) !== "OK") await sleep(5 + 5 * Math.random());
    try {
      return await work();
    } finally {
      await client.eval(release, 1, key, owner);
    }
  };
}

async function refresh(service, retailer, refreshToken) {
  const response = await fetch(service.tokenUrl(retailer), {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "refresh_token",
      refresh_token: refreshToken,
      client_id: APPLICATION.clientId,
      client_secret: APPLICATION.clientSecret,
    }),
  });
  if (!response.ok) throw new Error(`The token endpoint answered ${response.status}`);
  return response.json();
}
