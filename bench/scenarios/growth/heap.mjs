// What one retailer takes of the heap: so many logins, and what is left of them after a collection.
import { randomBytes } from "node:crypto";
import { memoryStore, retailPos } from "@retail-pos/core";
import { answering } from "../../lib/process.mjs";
import { prefixOf } from "./retailers.mjs";
import { options } from "./service.mjs";

const RETAILERS = 100_000;
const FIRST = 1_000;

/** Each keeps one login, and returns what has to stay reachable. */
const keepers = {
  /** As a hand-written store keeps them: an object in a Map. */
  object() {
    const entries = new Map();
    return {
      kept: entries,
      keep({ domainPrefix, access, refreshToken }) {
        entries.set(domainPrefix, { accessToken: access.value, expiresAt: access.expiresAt, refreshToken });
      },
    };
  },
  ours() {
    const store = memoryStore();
    return { kept: store, keep: (set) => store.save(set) };
  },
  processCopy,
  served,
};

/** What a process holds of a retailer that it has been asked for: its copy of the set, and what it knows besides. */
function processCopy() {
  const onTheWire = new Map();
  const load = async (domainPrefix) => JSON.parse(onTheWire.get(domainPrefix));
  const pos = retailPos({ ...options, store: { ...memoryStore(), load } });
  return {
    kept: pos,
    async keep(set) {
      onTheWire.set(set.domainPrefix, JSON.stringify(set));
      await pos.tokens(set.domainPrefix).token();
      onTheWire.delete(set.domainPrefix);
    },
  };
}

/** All that a process has of a retailer whom it serves from the memory store: a source is kept for each. */
function served() {
  const pos = retailPos({ ...options, store: memoryStore() });
  const sources = [];
  return {
    kept: [pos, sources],
    async keep(set) {
      await pos.connect(set);
      const source = pos.tokens(set.domainPrefix);
      await source.token();
      sources.push(source);
    },
  };
}

answering(async ({ keeper: name, characters }) => {
  const fetch = async () => Response.json(tokenResponse(characters));
  const pos = retailPos({ ...options, fetch });
  const { kept, keep } = keepers[name]();
  const logIn = async (n) => keep(await pos.exchange(prefixOf(n), "code"));
  for (let n = 0; n < FIRST; n += 1) await logIn(RETAILERS + n); // what the code itself needs is not counted
  const before = heapUsed();
  for (let n = 0; n < RETAILERS; n += 1) await logIn(n);
  const bytes = (heapUsed() - before) / RETAILERS;
  return { bytes, isKept: kept !== undefined };
});

function tokenResponse(characters) {
  const secret = () => randomBytes(characters / 2).toString("hex");
  return { access_token: secret(), refresh_token: secret(), expires_in: 86_400 };
}

function heapUsed() {
  globalThis.gc();
  globalThis.gc();
  return process.memoryUsage().heapUsed;
}
